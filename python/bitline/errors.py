"""Everything that Bitline raises. `crates/python/src/error.rs` decides which error of Rust is which."""

from typing import Self


class BitlineError(Exception):
    """Base of all errors of the drive and its host library."""


class UsageError(BitlineError, ValueError):
    """A call that cannot be done as asked: blocks outside of the drive, no power, a closed drive.

    Nothing was sent to the drive.
    """


class NotFoundError(UsageError):
    """Something that was named is not on the drive, such as a vector that was deleted.

    Attributes:
        vector: What it is called in expressions, a group and a number, if it is an expression's vector.
    """

    def __init__(self, message: str, vector: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.vector = vector

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.vector)


class BusyError(UsageError):
    """Files are open, or a program works, where something is to be unmounted. It is there still."""


class ConfigError(BitlineError, ValueError):
    """A configuration that makes no drive. The message names the key, its value and what would be right."""


class NvmeError(BitlineError):
    """The drive completed a command with a status other than success.

    Attributes:
        command: The command's name, such as `"write"` or `"fc_read"`.
        status: The standard's name of the status, such as `"LBA Out of Range"`.
        status_type: Status code type (NVMe Base 4.2.3): 0 generic, 1 command specific,
            2 media and data integrity, 7 vendor specific.
        status_code: Status code within its type.
    """

    def __init__(self, message: str, command: str, status: str, status_type: int, status_code: int) -> None:
        super().__init__(message)
        self.command = command
        self.status = status
        self.status_type = status_type
        self.status_code = status_code

    def about(self, what: str) -> Self:
        """The same error, whose message begins with what it is about."""
        return type(self)(f"{what}: {self}", self.command, self.status, self.status_type, self.status_code)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        arguments = (str(self), self.command, self.status, self.status_type, self.status_code)
        return type(self), arguments


class MediaError(NvmeError):
    """The medium lost data or failed: a status of type 2, such as `"Unrecovered Read Error"`."""


class ImageError(BitlineError):
    """An image file that is damaged, in use elsewhere, or no image at all."""


class InternalError(BitlineError, RuntimeError):
    """A bug in Bitline. The drive that it happened in is unusable; every later call on it says so."""


class WrongResultError(BitlineError):
    """A result differs from what it was checked against."""


class DisagreementError(WrongResultError):
    """Two plans for one expression gave different bits.

    Attributes:
        differing_bits: In how many bits; 4294967295 stands for so many and more.
    """

    def __init__(self, message: str, differing_bits: int) -> None:
        super().__init__(message)
        self.differing_bits = differing_bits

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.differing_bits)
