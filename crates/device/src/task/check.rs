//! What a module must be: within bounds before it is compiled, and a task by its imports and exports.

use wasmtime::wasmparser::{
    BinaryReaderError, Encoding, FuncType, Parser, Payload, TypeRef, Validator, WasmFeatures,
};
use wasmtime::{ExternType, Module};

use super::config::TaskConfig;
use super::error::ModuleError;
use super::imports::{CALLS, MODULE};

/// What is called before the main function.
pub(super) const INITIALIZE: &str = "_initialize";
/// The main function.
pub(super) const MAIN: &str = "isc_main";
/// The memory.
const MEMORY: &str = "memory";
/// Bytes of a page of memory.
const PAGE_BYTES: u64 = 1 << 16;

/// What of WebAssembly tasks may use: what compilers use unasked, vectors and tail calls; no threads, no second memory, no
/// 64-bit memories, no exceptions, no collected objects.
fn features() -> WasmFeatures {
    WasmFeatures::WASM1
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::CALL_INDIRECT_OVERLONG
        | WasmFeatures::BULK_MEMORY_OPT
        | WasmFeatures::SIMD
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
}

/// Checks all that can be told before a module is compiled.
pub(super) fn bounds(bytes: &[u8], config: &TaskConfig) -> Result<(), ModuleError> {
    let most = config.module_bytes;
    if bytes.len() as u64 > most {
        return Err(ModuleError::TooLarge {
            bytes: bytes.len() as u64,
            most,
        });
    }
    is_wasm(bytes)?;
    let mut types = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        section(payload.map_err(invalid)?, &mut types, config)?;
    }
    let mut validator = Validator::new_with_features(features());
    validator.validate_all(bytes).map(drop).map_err(invalid)
}

/// Whether it begins as a module does.
fn is_wasm(bytes: &[u8]) -> Result<(), ModuleError> {
    let text = bytes.trim_ascii_start();
    let what = match bytes {
        [] => "it is empty",
        _ if text.starts_with(b"(module") || text.starts_with(b";;") => {
            "it is the text of one, which must be translated to bytes first"
        }
        [0x7F, b'E', b'L', b'F', ..] => "it is a program of the host (ELF); compile it for wasm32",
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => return Ok(()),
        [0, b'a', b's', b'm', _, 0, 1, 0, ..] => "it is a component, and tasks are modules",
        [0, b'a', b's', b'm', _, _, _, _, ..] => "it is of another version than 1",
        [0, b'a', b's', b'm', ..] => "it ends before its version",
        [first, ..] if *first == 0 && b"\0asm".starts_with(bytes) => "it ends before its version",
        _ => "it does not begin with 00 61 73 6D (\"\\0asm\")",
    };
    Err(ModuleError::NotWasm(what))
}

fn invalid(error: BinaryReaderError) -> ModuleError {
    ModuleError::Invalid {
        what: error.message().to_owned(),
        offset: error.offset() as u64,
    }
}

fn at_most(
    what: &'static str,
    found: u64,
    key: &'static str,
    most: u64,
) -> Result<(), ModuleError> {
    match found <= most {
        true => Ok(()),
        false => Err(ModuleError::TooMany {
            what,
            found,
            key,
            most,
        }),
    }
}

/// Checks a section, and keeps the types of functions that it declares.
fn section(
    payload: Payload<'_>,
    types: &mut Vec<FuncType>,
    config: &TaskConfig,
) -> Result<(), ModuleError> {
    match payload {
        Payload::Version { encoding, .. } if encoding != Encoding::Module => {
            return Err(ModuleError::NotWasm(
                "it is a component, and tasks are modules",
            ));
        }
        Payload::TypeSection(section) => {
            at_most(
                "types",
                section.count().into(),
                "functions",
                config.functions.into(),
            )?;
            for of_function in section.into_iter_err_on_gc_types() {
                types.push(of_function.map_err(invalid)?);
            }
        }
        Payload::ImportSection(section) => {
            for import in section.into_imports() {
                let import = import.map_err(invalid)?;
                is_offered(import.module, import.name, import.ty, types)?;
            }
        }
        Payload::FunctionSection(section) => {
            at_most(
                "functions",
                section.count().into(),
                "functions",
                config.functions.into(),
            )?;
        }
        Payload::GlobalSection(section) => {
            at_most(
                "global variables",
                section.count().into(),
                "globals",
                config.globals.into(),
            )?;
        }
        Payload::TableSection(section) => {
            at_most(
                "tables",
                section.count().into(),
                "globals",
                config.globals.into(),
            )?;
            for table in section {
                let elements = table.map_err(invalid)?.ty.initial;
                let most = config.table_elements.into();
                at_most("elements of a table", elements, "table_elements", most)?;
            }
        }
        Payload::MemorySection(section) => {
            for memory in section {
                let bytes = memory.map_err(invalid)?.initial.saturating_mul(PAGE_BYTES);
                let most = config.memory_bytes;
                at_most("bytes of memory to begin with", bytes, "memory_bytes", most)?;
            }
        }
        Payload::ExportSection(section) => {
            at_most(
                "exports",
                section.count().into(),
                "functions",
                config.functions.into(),
            )?;
        }
        Payload::CodeSectionEntry(body) => {
            let bytes = body.range().len() as u64;
            let most = config.function_bytes.into();
            at_most("bytes in one function", bytes, "function_bytes", most)?;
        }
        _ => {}
    }
    Ok(())
}

/// Checks that an import is one of the calls that tasks have.
fn is_offered(
    module: &str,
    name: &str,
    what: TypeRef,
    types: &[FuncType],
) -> Result<(), ModuleError> {
    let call = CALLS
        .iter()
        .find(|(call, _)| module == MODULE && *call == name);
    let Some((_, wanted)) = call else {
        let offered: Vec<&str> = CALLS.iter().map(|(call, _)| *call).collect();
        return Err(ModuleError::UnknownImport {
            module: module.to_owned(),
            name: name.to_owned(),
            offered: offered.join(", "),
        });
    };
    let found = match what {
        TypeRef::Func(index) | TypeRef::FuncExact(index) => match types.get(index as usize) {
            Some(of_function) => in_words(of_function.params(), of_function.results()),
            None => "a function of a type that it does not have".to_owned(),
        },
        TypeRef::Memory(_) => "a memory".to_owned(),
        TypeRef::Table(_) => "a table".to_owned(),
        TypeRef::Global(_) => "a global variable".to_owned(),
        TypeRef::Tag(_) => "a tag".to_owned(),
    };
    match found == *wanted {
        true => Ok(()),
        false => Err(ModuleError::ImportType {
            name: name.to_owned(),
            found,
            wanted: (*wanted).to_owned(),
        }),
    }
}

/// A type of functions as the text format has it.
fn in_words<T: std::fmt::Display>(
    parameters: impl IntoIterator<Item = T>,
    results: impl IntoIterator<Item = T>,
) -> String {
    fn listed<T: std::fmt::Display>(all: impl IntoIterator<Item = T>) -> Vec<String> {
        all.into_iter().map(|one| one.to_string()).collect()
    }
    let results = match &listed(results)[..] {
        [] => "()".to_owned(),
        results => results.join(", "),
    };
    format!("({}) -> {results}", listed(parameters).join(", "))
}

/// Checks that a module exports what a task must. Gives the bytes of its memory, at first and at most.
pub(super) fn exports(module: &Module) -> Result<(u64, u64), ModuleError> {
    let wanted = "its memory";
    let memory = match module.get_export(MEMORY) {
        Some(ExternType::Memory(memory)) => memory,
        Some(other) => return Err(exported_as(MEMORY, &other, wanted)),
        None => return Err(missing(MEMORY, wanted)),
    };
    let wanted = "a function () -> i32, which returns 0 for success";
    match module.get_export(MAIN) {
        Some(other) if !is_function(&other, "() -> i32") => {
            return Err(exported_as(MAIN, &other, wanted));
        }
        Some(_) => {}
        None => return Err(missing(MAIN, wanted)),
    }
    let wanted = "a function () -> ()";
    match module.get_export(INITIALIZE) {
        Some(other) if !is_function(&other, "() -> ()") => {
            return Err(exported_as(INITIALIZE, &other, wanted));
        }
        _ => {}
    }
    let pages = memory.maximum().unwrap_or(PAGE_BYTES);
    Ok((
        memory.minimum() * PAGE_BYTES,
        pages.saturating_mul(PAGE_BYTES),
    ))
}

fn is_function(what: &ExternType, wanted: &str) -> bool {
    as_found(what) == wanted
}

fn as_found(what: &ExternType) -> String {
    match what {
        ExternType::Func(function) => in_words(function.params(), function.results()),
        ExternType::Global(_) => "a global variable".to_owned(),
        ExternType::Table(_) => "a table".to_owned(),
        ExternType::Memory(_) => "a memory".to_owned(),
        ExternType::Tag(_) => "a tag".to_owned(),
    }
}

fn exported_as(name: &'static str, what: &ExternType, wanted: &'static str) -> ModuleError {
    ModuleError::ExportType {
        name,
        found: as_found(what),
        wanted,
    }
}

fn missing(name: &'static str, wanted: &'static str) -> ModuleError {
    ModuleError::MissingExport { name, wanted }
}
