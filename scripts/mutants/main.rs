//! Plants mutants in the sources of a crate, so that one build has all of them: an environment variable chooses which
//! is in force when a program runs.
//!
//! ```text
//! mutants CRATE COUNT SEED FOLDER...   # rewrites CRATE/src/FOLDER/**.rs in place; use a copy
//! ```
//!
//! Prints a line a mutant: number, file, line, what changes. Those within one another are never chosen together. Tests,
//! constants, macros, statistics and what only prefetches are left alone.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ReturnType, Stmt, Type};

/// Put before the root of the crate: a mutant may do what a compiler refuses where it sees it.
const ALLOWED: &str = "#![allow(arithmetic_overflow, unconditional_panic)]\n";

/// Appended to the root of the crate.
const SWITCH: &str = r#"
/// Which mutant is in force.
pub(crate) mod mutants {
    thread_local! {
        static CHOSEN: u32 = std::env::var("MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    }
    #[inline]
    pub(crate) fn on(number: u32) -> bool {
        CHOSEN.with(|chosen| *chosen == number)
    }
}
"#;

/// A change that could be made: the bytes it takes the place of, and what stands there instead, with `#` for its number.
struct Mutant {
    file: PathBuf,
    line: usize,
    bytes: std::ops::Range<usize>,
    text: String,
    what: String,
}

struct Finder<'a> {
    file: &'a Path,
    source: &'a str,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        &self.source[span.byte_range()]
    }

    fn add(&mut self, span: Span, bytes: std::ops::Range<usize>, text: String, what: String) {
        self.found.push(Mutant {
            file: self.file.to_owned(),
            line: span.start().line,
            bytes,
            text,
            what: what.split_whitespace().collect::<Vec<_>>().join(" "),
        });
    }

    /// What a function of this type could return instead.
    fn values(of: &ReturnType) -> Vec<&'static str> {
        let ReturnType::Type(_, of) = of else {
            return vec![""];
        };
        let Type::Path(path) = &**of else {
            return vec![];
        };
        let Some(last) = path.path.segments.last() else {
            return vec![];
        };
        match last.ident.to_string().as_str() {
            "bool" => vec!["true", "false"],
            "u8" | "u16" | "u32" | "u64" | "usize" => vec!["0", "1"],
            "Option" => vec!["None"],
            "Result" => match &last.arguments {
                syn::PathArguments::AngleBracketed(of) => match of.args.first() {
                    Some(syn::GenericArgument::Type(Type::Tuple(unit))) if unit.elems.is_empty() => {
                        vec!["Ok(())"]
                    }
                    _ => vec![],
                },
                _ => vec![],
            },
            _ => vec![],
        }
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if block.stmts.is_empty() || is_unseen(&signature.ident.to_string()) {
            return;
        }
        let at = block.brace_token.span.open().byte_range().end;
        for value in Self::values(&signature.output) {
            let text = format!(" if crate::mutants::on(#) {{ return {value}; }}");
            let what = format!("{} returns {value} at once", signature.ident);
            self.add(signature.span(), at..at, text, what);
        }
    }

    fn binary(&mut self, it: &syn::ExprBinary) {
        let is_number = |side: &Expr| matches!(side, Expr::Lit(it) if matches!(it.lit, syn::Lit::Int(_)));
        let counts = is_number(&it.left) || is_number(&it.right);
        let other = match it.op {
            BinOp::Lt(_) => "<=",
            BinOp::Le(_) => "<",
            BinOp::Gt(_) => ">=",
            BinOp::Ge(_) => ">",
            BinOp::Eq(_) => "!=",
            BinOp::Ne(_) => "==",
            BinOp::And(_) => "||",
            BinOp::Or(_) => "&&",
            BinOp::Add(_) if counts => "-",
            BinOp::Sub(_) if counts => "+",
            _ => return,
        };
        let whole = it.span();
        let (left, right) = (self.text(it.left.span()), self.text(it.right.span()));
        let (own, text) = (self.text(whole), format!("({left}) {other} ({right})"));
        if own.contains("let ") {
            return;
        }
        let what = format!("{own} becomes {left} {other} {right}");
        let text = format!("(if crate::mutants::on(#) {{ {text} }} else {{ {own} }})");
        self.add(whole, whole.byte_range(), text, what);
    }
}

/// Whether what is called leaves no trace but in statistics, in speed or in a trace.
fn is_unseen(name: &str) -> bool {
    ["count", "prefetch", "trace", "note_served", "fmt"].iter().any(|it| name.contains(it))
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|it| it.path().is_ident("cfg") || it.path().is_ident("test"))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, it: &'ast syn::ItemMod) {
        if !is_test(&it.attrs) {
            visit::visit_item_mod(self, it);
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_expr_repeat(&mut self, _: &'ast syn::ExprRepeat) {}

    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        if it.sig.constness.is_none() && !is_test(&it.attrs) {
            self.function(&it.sig, &it.block);
            visit::visit_item_fn(self, it);
        }
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        if it.sig.constness.is_none() && !is_test(&it.attrs) {
            self.function(&it.sig, &it.block);
            visit::visit_impl_item_fn(self, it);
        }
    }

    fn visit_expr_binary(&mut self, it: &'ast syn::ExprBinary) {
        self.binary(it);
        visit::visit_expr_binary(self, it);
    }

    fn visit_expr_unary(&mut self, it: &'ast syn::ExprUnary) {
        if let syn::UnOp::Not(_) = it.op {
            let (whole, inner) = (it.span(), self.text(it.expr.span()));
            let own = self.text(whole);
            let text = format!("(if crate::mutants::on(#) {{ {inner} }} else {{ {own} }})");
            let what = format!("{own} becomes {inner}");
            self.add(whole, whole.byte_range(), text, what);
        }
        visit::visit_expr_unary(self, it);
    }

    fn visit_stmt(&mut self, it: &'ast Stmt) {
        if let Stmt::Expr(Expr::MethodCall(call), Some(_)) = it
            && !is_unseen(&call.method.to_string())
        {
            let own = self.text(it.span());
            let text = format!("if !crate::mutants::on(#) {{ {own} }}");
            self.add(it.span(), it.span().byte_range(), text, format!("without {own}"));
        }
        visit::visit_stmt(self, it);
    }
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// The sources in a folder, tests left out.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        if name.is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, into)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [of, count, seed, folders @ ..] = arguments else {
        return Err("usage: mutants CRATE COUNT SEED FOLDER...".to_owned());
    };
    let number = |text: &String| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    let (count, mut state) = (number(count)? as usize, number(seed)?);
    let mut paths = Vec::new();
    for folder in folders {
        let folder = Path::new(of).join("src").join(folder);
        sources(&folder, &mut paths).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut all = Vec::new();
    for path in &paths {
        let error = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let source = fs::read_to_string(path).map_err(|it| error(&it))?;
        let parsed = syn::parse_file(&source).map_err(|it| error(&it))?;
        let mut finder = Finder { file: path, source: &source, found: Vec::new() };
        finder.visit_file(&parsed);
        all.extend(finder.found);
    }
    eprintln!("{} mutants in {} files", all.len(), paths.len());
    let mut chosen: Vec<Mutant> = Vec::new();
    while chosen.len() < count && !all.is_empty() {
        let mutant = all.swap_remove((next(&mut state) % all.len() as u64) as usize);
        let overlaps = |other: &Mutant| {
            let apart = mutant.bytes.end <= other.bytes.start || other.bytes.end <= mutant.bytes.start;
            other.file == mutant.file && (!apart || mutant.bytes == other.bytes)
        };
        if !chosen.iter().any(overlaps) {
            chosen.push(mutant);
        }
    }
    // From the end of each file, so that places before stay where they are.
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(chosen[at].bytes.start));
    for at in order {
        let mutant = &chosen[at];
        let error = |error: std::io::Error| format!("{}: {error}", mutant.file.display());
        let mut source = fs::read_to_string(&mutant.file).map_err(error)?;
        let text = mutant.text.replace("on(#)", &format!("on({})", at + 1));
        source.replace_range(mutant.bytes.clone(), &text);
        fs::write(&mutant.file, source).map_err(error)?;
    }
    let root = Path::new(of).join("src/lib.rs");
    let error = |error: std::io::Error| format!("{}: {error}", root.display());
    let source = fs::read_to_string(&root).map_err(error)?;
    fs::write(&root, ALLOWED.to_owned() + &source + SWITCH).map_err(error)?;
    for (at, mutant) in chosen.iter().enumerate() {
        println!("{}\t{}\t{}\t{}", at + 1, mutant.file.display(), mutant.line, mutant.what);
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::FAILURE
        }
    }
}
