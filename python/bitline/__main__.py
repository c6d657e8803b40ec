"""`python -m bitline`: the same as the command `bitline`."""

from bitline.cli import main

if __name__ == "__main__":
    main()
