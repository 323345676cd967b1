use wasmtime::ResourceLimiter;

const TABLE_ELEMENTS: usize = 100_000;

/// Counts the memory of one call over all of its linear memories: a component may have several.
pub(super) struct Limiter {
    memory: usize,
    memory_limit: usize,
    table_elements: usize,
}

impl Limiter {
    pub(super) fn new(memory_limit: usize) -> Self {
        Self { memory: 0, memory_limit, table_elements: 0 }
    }

    /// Bytes of linear memory so far.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }
}

/// The limit that a call used up. An error and no refusal: a guest's allocator would turn a refusal into an abort that says
/// nothing.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum Exceeded {
    #[error("no CPU time left")]
    Cpu,
    #[error("no memory left")]
    Memory,
    #[error("its tables are too large")]
    Table,
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        // Growth beyond the memory's own maximum fails anyway.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let sum = self.memory.saturating_add(desired.saturating_sub(current));
        if sum > self.memory_limit {
            return Err(Exceeded::Memory.into());
        }
        self.memory = sum;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let sum = self.table_elements.saturating_add(desired.saturating_sub(current));
        if sum > TABLE_ELEMENTS {
            return Err(Exceeded::Table.into());
        }
        self.table_elements = sum;
        Ok(true)
    }

    fn instances(&self) -> usize {
        32
    }

    fn tables(&self) -> usize {
        16
    }

    fn memories(&self) -> usize {
        8
    }
}
