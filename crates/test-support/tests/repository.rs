//! What the sources and the crates that they use must hold: the invariants of `ARCHITECTURE.md` that neither cargo nor
//! visibility enforces, and the licences of `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A module or something in it, from the root of its crate on.
type Names = Vec<String>;

/// The crates of the library. Cargo sees to it that each uses only those before it.
const LIBRARY: [&str; 5] = [
    "crates/motion-base/src",
    "crates/motion-gpu/src",
    "crates/motion-search/src",
    "crates/motion-frames/src",
    "crates/motion-detect/src",
];

/// What knows GStreamer, the lowest first.
const ELEMENTS: [&str; 2] = ["fields/src", "src"];

/// The layers of the two crates that have many, the lowest first. A layer imports only from those before it.
const LAYERS: [(&str, &[&[&str]]); 3] = [
    (
        "crates/motion-search/src",
        &[
            &["estimator"],
            &["tuning"],
            &["native", "scenes"],
            &["opencl", "stages"],
            &["session"],
            &["backend"],
            &["search", "quantizer"],
        ],
    ),
    (
        "crates/motion-frames/src",
        &[
            &["compensation"],
            &["duplicates", "packers", "interpolation"],
            &["denoising"],
            &["opencl"],
            &["backend"],
        ],
    ),
    (
        "crates/motion-detect/src",
        &[
            &["affine", "mask"],
            &["settings", "resampling"],
            &["scene"],
            &["camera"],
            &["light", "align"],
            &["regions", "changes", "noise"],
            &["evidence"],
            &["ghosts", "tracks"],
            &["shadows", "observation"],
            &["detector"],
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A file of Rust, and what it says outside tests.
struct Source {
    path: PathBuf,
    module: Names,
    said: Said,
}

/// What code names, imports, declares and does.
#[derive(Default)]
struct Said {
    /// The module that is read.
    at: Names,
    /// Paths and imports, from the root of the crate or of another crate on.
    paths: BTreeSet<Names>,
    /// Types and traits.
    types: Vec<String>,
    methods: BTreeSet<String>,
    is_unsafe: bool,
}

impl Said {
    /// Notes a path as it is written here.
    fn name(&mut self, mut path: Names) {
        let mut base = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.at.clone(),
            // Another crate, a child, or what is imported.
            _ => {
                self.paths.insert(path);
                return;
            }
        };
        while let Some("crate" | "self" | "super") = path.first().map(String::as_str) {
            if path.remove(0) == "super" {
                base.pop();
            }
        }
        base.insert(0, "crate".into());
        self.paths.insert([base, path].concat());
    }

    fn import(&mut self, before: &[String], tree: &syn::UseTree) {
        let and = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.import(&and(&path.ident), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.import(before, item)),
            syn::UseTree::Name(name) if name.ident == "self" => self.name(before.to_vec()),
            syn::UseTree::Name(name) => self.name(and(&name.ident)),
            syn::UseTree::Rename(renamed) => self.name(and(&renamed.ident)),
            syn::UseTree::Glob(_) => self.name(before.to_vec()),
        }
    }

    /// The paths in a macro, which is not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Names::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if path.last().is_some_and(|last| last != ":") {
                        self.end_of(&mut path);
                    }
                    path.retain(|name| name != ":");
                    path.push(ident.to_string());
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    path.push(":".into())
                }
                TokenTree::Group(group) => {
                    self.end_of(&mut path);
                    self.tokens(group.stream());
                }
                _ => self.end_of(&mut path),
            }
        }
        self.end_of(&mut path);
    }

    fn end_of(&mut self, path: &mut Names) {
        path.retain(|name| name != ":");
        if path.len() > 1 {
            self.name(path.clone());
        }
        path.clear();
    }

    fn declare(&mut self, ident: &syn::Ident) {
        self.types.push(ident.to_string());
    }
}

/// Whether these attributes keep something out of the library.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

impl<'a> Visit<'a> for Said {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if module.content.is_some() && !is_test(&module.attrs) {
            self.at.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.at.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.import(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.name(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        self.tokens(called.tokens.clone());
        visit::visit_macro(self, called);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.declare(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.declare(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.declare(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.declare(&item.ident);
        visit::visit_item_type(self, item);
    }

    // What a function has to itself.
    fn visit_block(&mut self, block: &'a syn::Block) {
        let types = self.types.len();
        visit::visit_block(self, block);
        self.types.truncate(types);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        self.methods.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_unsafe(&mut self, block: &'a syn::ExprUnsafe) {
        self.is_unsafe = true;
        visit::visit_expr_unsafe(self, block);
    }
}

/// The files of a crate's `src`, but for those that only its tests have.
fn sources(folder: &str) -> Vec<Source> {
    let (src, mut folders, mut files) = (root().join(folder), vec![root().join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let module = |path: &Path| -> Names {
        let path = path.strip_prefix(&src).expect("a file in it").with_extension("");
        let mut names: Names = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        names.pop_if(|last| matches!(last.as_str(), "mod" | "lib"));
        names
    };
    let parsed: Vec<_> = files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a readable file");
            let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (module(&path), path, file)
        })
        .collect();
    // Modules that their parents declare for tests alone.
    let mut of_tests = BTreeSet::new();
    for (module, _, file) in &parsed {
        for item in &file.items {
            if let syn::Item::Mod(declared) = item
                && is_test(&declared.attrs)
            {
                of_tests.insert([&module[..], &[declared.ident.to_string()]].concat());
            }
        }
    }
    let is_of_tests = |module: &Names| (1..=module.len()).any(|length| of_tests.contains(&module[..length]));
    let parsed = parsed.into_iter().filter(|(module, ..)| !is_of_tests(module));
    let sources: Vec<_> = parsed
        .map(|(module, path, file)| {
            let mut said = Said { at: module.clone(), ..Said::default() };
            said.visit_file(&file);
            Source { path, module, said }
        })
        .collect();
    assert!(sources.len() > 10, "{folder} has only {} files", sources.len());
    sources
}

/// The files of each crate of the library.
fn library() -> impl Iterator<Item = Vec<Source>> {
    LIBRARY.into_iter().map(sources)
}

impl Source {
    fn layer(&self) -> &str {
        self.module.first().map_or("", String::as_str)
    }

    /// The paths of this crate that it names.
    fn own_paths(&self) -> impl Iterator<Item = &[String]> {
        self.said.paths.iter().filter(|path| path[0] == "crate").map(|path| &path[1..])
    }
}

/// Fails with the lines of `faults`, if there are any.
fn none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Only `motion-gpu` depends on `ocl`, and it names the plain calls alone: its types panic, and wait for a missing driver.
#[test]
fn only_plain_calls_of_ocl() {
    let mut faults = Vec::new();
    for source in sources("crates/motion-gpu/src") {
        for path in source.said.paths.iter().filter(|path| path[0] == "ocl") {
            if path.get(1).is_none_or(|part| part != "ffi") {
                faults.push(format!("{}: {}", source.path.display(), path.join("::")));
            }
        }
    }
    none(faults);
}

/// An `imp.rs` has the virtual methods of an element. It names no device, oracle or row of a frame, and has no `unsafe`.
#[test]
fn no_search_in_an_imp() {
    let mut faults = Vec::new();
    let sources = sources("src");
    let imps: Vec<_> = sources.iter().filter(|source| source.path.ends_with("imp.rs")).collect();
    assert!(imps.len() >= 6, "{} elements", imps.len());
    for source in imps {
        let is_below = |name: &String| ["native", "opencl", "oracle", "simd"].contains(&name.as_str());
        let named = source.said.paths.iter().filter(|path| path.iter().any(is_below));
        faults.extend(named.map(|path| format!("{}: {}", source.path.display(), path.join("::"))));
        if source.said.is_unsafe || source.said.methods.contains("row") {
            faults.push(format!("{}: rows of frames, or unsafe code", source.path.display()));
        }
    }
    none(faults);
}

/// `backend` chooses devices and kernels: nothing above it makes a device.
#[test]
fn one_place_chooses() {
    let makes = |path: &&Names| {
        path.windows(2).any(|pair| {
            ["Native", "OpenCl"].contains(&pair[0].as_str())
                && (["new", "open"].contains(&pair[1].as_str()) || pair[1].starts_with("with_"))
        })
    };
    let mut faults = Vec::new();
    for source in library().flatten().chain(ELEMENTS.into_iter().flat_map(sources)) {
        if !["backend", "native", "opencl"].contains(&source.layer()) {
            let made = source.said.paths.iter().filter(makes);
            faults.extend(made.map(|path| format!("{}: {}", source.path.display(), path.join("::"))));
        }
    }
    none(faults);
}

/// A layer imports from those below it alone, and every folder is in a layer.
#[test]
fn layers_import_from_below() {
    let mut faults = Vec::new();
    for (folder, layers) in LAYERS {
        let height = |name: &str| layers.iter().position(|layers| layers.contains(&name));
        for source in sources(folder).iter().filter(|source| !source.module.is_empty()) {
            let Some(own) = height(source.layer()) else {
                faults.push(format!("{} is in no layer: name it in LAYERS", source.path.display()));
                continue;
            };
            for path in source.own_paths() {
                let target = path.first().map_or("", String::as_str);
                if target != source.layer() && height(target).is_some_and(|target| target >= own) {
                    faults.push(format!("{}: crate::{}", source.path.display(), path.join("::")));
                }
            }
        }
    }
    none(faults);
}

/// No two types of a crate have one name, but for those that every element has in its `imp.rs`.
#[test]
fn type_names_are_unique() {
    let mut faults = Vec::new();
    for sources in library().chain(ELEMENTS.map(sources)) {
        let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for source in sources.iter().filter(|source| !source.path.ends_with("imp.rs")) {
            for name in &source.said.types {
                places.entry(name).or_default().push(source.path.display().to_string());
            }
        }
        let doubled = places.into_iter().filter(|(_, places)| places.len() > 1);
        faults.extend(doubled.map(|(name, places)| format!("{name}: {}", places.join(", "))));
    }
    none(faults);
}

/// No files of a crate import from each other, by however many between. A parent and its children may.
#[test]
fn modules_without_circles() {
    let mut faults = Vec::new();
    for sources in library().chain(ELEMENTS.map(sources)) {
        let modules: BTreeMap<&[String], &Source> =
            sources.iter().map(|source| (&source.module[..], source)).collect();
        let edges: BTreeMap<&[String], BTreeSet<&[String]>> = modules
            .iter()
            .map(|(&module, source)| {
                let targets = source.own_paths().map(|path| declared_in(path, &modules));
                let is_other =
                    |target: &&[String]| !target.starts_with(module) && !module.starts_with(target);
                (module, targets.filter(is_other).collect())
            })
            .collect();
        // What leads nowhere, or only to such, is in no circle.
        let mut left: BTreeSet<&[String]> = edges.keys().copied().collect();
        while let Some(&end) = left.iter().find(|module| edges[**module].is_disjoint(&left)) {
            left.remove(end);
        }
        // Nor is what nothing in a circle leads to.
        while let Some(&start) =
            left.iter().find(|module| left.iter().all(|other| !edges[*other].contains(**module)))
        {
            left.remove(start);
        }
        let names = |modules: &BTreeSet<&[String]>| {
            modules.intersection(&left).map(|module| module.join("::")).collect::<Vec<_>>().join(", ")
        };
        faults.extend(left.iter().map(|module| format!("{} → {}", module.join("::"), names(&edges[module]))));
    }
    none(faults);
}

/// The module of a file in which `path` is declared: through its parent, where that imports the name from a child.
fn declared_in<'a>(path: &[String], modules: &BTreeMap<&'a [String], &'a Source>) -> &'a [String] {
    let is_module = |length: &usize| modules.contains_key(&path[..*length]);
    let length = (0..=path.len()).rev().find(is_module).expect("the root is a module");
    let (&module, source) = modules.get_key_value(&path[..length]).expect("it was found");
    let Some(name) = path.get(length) else { return module };
    let own = source.own_paths().map(<[String]>::to_vec);
    // A child may be named without `self`.
    let children = source.said.paths.iter().filter(|path| path[0] != "crate");
    let children = children.map(|path| [module, path].concat());
    let imported = own.chain(children).find(|imported| {
        imported.last() == Some(name) && imported.len() > length + 1 && imported.starts_with(module)
    });
    imported.map_or(module, |imported| declared_in(&imported, modules))
}

/// `cargo deny check licenses sources` says more, but is not installed everywhere.
#[test]
fn licences_are_allowed() {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let rules: toml::Table = text.parse().expect("TOML");
    let names = |list: &toml::Value| -> Vec<String> {
        list.as_array().expect("a list").iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    };
    let allowed = names(&rules["licenses"]["allow"]);
    let exceptions: BTreeMap<&str, Vec<String>> = rules["licenses"]["exceptions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| (of["crate"].as_str().expect("a name"), names(&of["allow"])))
        .collect();
    // An old separator, "/", stands for OR.
    let is_allowed = |package: &str, licence: &str| {
        let licence = licence.replace('/', " OR ").replace(['(', ')'], " ");
        let of_package = exceptions.get(package).into_iter().flatten();
        let names: Vec<&String> = allowed.iter().chain(of_package).collect();
        let mut all = licence.split(" AND ");
        all.all(|any| any.split(" OR ").any(|name| names.iter().any(|allowed| *allowed == name.trim())))
    };
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 50, "{} packages", packages.len());
    let mut faults = Vec::new();
    for package in packages {
        let (licence, source) = (package["license"].as_str(), package["source"].as_str());
        let name = package["name"].as_str().expect("a name");
        if !is_allowed(name, licence.unwrap_or_default())
            || source.is_some_and(|place| !place.starts_with("registry+"))
        {
            faults.push(format!("{} {}: {licence:?} from {source:?}", package["name"], package["version"]));
        }
    }
    none(faults);
}
