//! Limits of compiling a module.

/// The limits of the compiler's process, and of the parts of a module that decide how much it needs.
///
/// The process is limited by the kernel (`memory`, `cpu`) and by its parent (`output`). The other limits are compared
/// before the compiler sees the module, so that what is far too large is refused at once and by its name. Each limit is
/// a key of `provider.limits.compile` in `--cloud-config`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CompileLimits {
    /// Bytes of address space of the compiler's process.
    pub memory: u64,
    /// Seconds of CPU time of the compiler's process.
    pub cpu: u64,
    /// Bytes of machine code.
    pub output: u64,
    /// Components and modules inside the module, it included.
    pub modules: u64,
    /// How deep components, modules and component types are inside one another.
    pub nesting: u64,
    /// Types, and what component types declare.
    pub types: u64,
    /// Imports, exports, instances and their arguments, aliases, globals, tables, memories, segments and entries of
    /// tables.
    pub definitions: u64,
    /// Bytes of custom sections.
    pub custom_bytes: u64,
    /// Functions with a body.
    pub functions: u64,
    /// Bytes of one function.
    pub function_bytes: u64,
    /// Local variables of one function.
    pub locals: u64,
    /// How deep blocks are inside one another in one function.
    pub blocks: u64,
    /// Targets of all `br_table` instructions of one function.
    pub branch_targets: u64,
}

impl Default for CompileLimits {
    /// For modules of the size that a source may have, 4 MiB. The provider for DigitalOcean, of half a MiB, takes a
    /// second of CPU time, 190 MiB of address space (of which it uses 50), 2 MiB of output, 7 modules 2 deep, and has 1,400
    /// functions with at most 15 KiB, 42 locals, 46 blocks and 41 targets. Go's compiler puts a block around a function for each
    /// call in it, and enters most functions into a table: the example in Go has 550 blocks in one function, and one that imports more of
    /// the standard library has 51,551 definitions.
    fn default() -> Self {
        Self {
            memory: 512 << 20,
            cpu: 30,
            output: 64 << 20,
            modules: 100,
            nesting: 16,
            types: 20_000,
            definitions: 100_000,
            custom_bytes: 1 << 20,
            functions: 20_000,
            function_bytes: 128 << 10,
            locals: 1_000,
            blocks: 2_000,
            branch_targets: 10_000,
        }
    }
}

impl CompileLimits {
    /// Every limit with its key, for the way into the compiler's process and out of its arguments.
    fn keys(&mut self) -> [(&'static str, &mut u64); 13] {
        [
            ("memory", &mut self.memory),
            ("cpu", &mut self.cpu),
            ("output", &mut self.output),
            ("modules", &mut self.modules),
            ("nesting", &mut self.nesting),
            ("types", &mut self.types),
            ("definitions", &mut self.definitions),
            ("customBytes", &mut self.custom_bytes),
            ("functions", &mut self.functions),
            ("functionBytes", &mut self.function_bytes),
            ("locals", &mut self.locals),
            ("blocks", &mut self.blocks),
            ("branchTargets", &mut self.branch_targets),
        ]
    }

    /// As arguments of the compiler's process: `memory=536870912`.
    pub(super) fn arguments(mut self) -> impl Iterator<Item = String> {
        self.keys().map(|(key, value)| format!("{key}={value}")).into_iter()
    }

    /// Reads what [`arguments`](Self::arguments) wrote. What is not said is the default.
    pub(super) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut limits = Self::default();
        for argument in arguments {
            let (name, number) = argument.split_once('=').unwrap_or((&argument, ""));
            let mut keys = limits.keys();
            let known = keys.iter_mut().find(|(key, _)| *key == name);
            match (known, number.parse()) {
                (Some((_, value)), Ok(number)) => **value = number,
                _ => return Err(format!("{argument:?} is no limit of the compiler; write one as in memory=536870912")),
            }
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_the_way_into_the_process() {
        let mut limits = CompileLimits::default();
        for (number, (_, value)) in limits.keys().into_iter().enumerate() {
            *value = number as u64 + 1;
        }
        assert_eq!(CompileLimits::parse(limits.arguments()), Ok(limits));
        assert_eq!(CompileLimits::parse([]), Ok(CompileLimits::default()));
    }

    #[test]
    fn an_unknown_argument_is_refused_with_its_text() {
        for wrong in ["memory", "memory=", "memory=-1", "memory=1Gi", "ram=1", ""] {
            assert!(CompileLimits::parse([wrong.to_owned()]).unwrap_err().contains(wrong), "{wrong:?}");
        }
    }
}
