//! Small things that cost more than any machine has to compile or unpack.

use wasm_encoder::{
    BlockType, CodeSection, Component, Function, FunctionSection, Instruction, Module, ModuleSection,
    NestedComponentSection, RawSection, TypeSection, ValType,
};

/// The id of a component's section of types.
const TYPES: u8 = 7;

/// A component in a component, and so on, until it is this many bytes long. 118 KB took 3.1 GiB.
#[must_use]
pub fn nested_components(bytes: usize) -> Vec<u8> {
    let mut component = Component::new();
    while component.as_slice().len() < bytes {
        let mut outer = Component::new();
        outer.section(&NestedComponentSection(&component));
        component = outer;
    }
    component.finish()
}

/// A type of a component that declares a type of a component, this deep. 10,000, of 30 KB, exhausted a stack of 8 MiB.
#[must_use]
pub fn nested_types(depth: usize) -> Vec<u8> {
    // One type, and each is a component's (41) with one declaration (01), a type (01). The last one has none.
    let data = [&[1][..], &[0x41, 1, 1].repeat(depth), &[0x41, 0]].concat();
    let mut component = Component::new();
    component.section(&RawSection { id: TYPES, data: &data });
    component.finish()
}

/// One function with a loop in a loop, this deep. 277,000, of 832 KB, took 145 s.
#[must_use]
pub fn nested_loops(depth: usize) -> Vec<u8> {
    loops_with_locals(depth, 0)
}

/// One function with this many local variables, that are changed in a loop in a loop.
#[must_use]
pub fn loops_with_locals(depth: usize, locals: u32) -> Vec<u8> {
    let mut function = Function::new([(locals, ValType::I32)]);
    let variable = |level: usize| u32::try_from(level).ok()?.checked_rem(locals);
    for level in 0..depth {
        function.instruction(&Instruction::Loop(BlockType::Empty));
        if let Some(variable) = variable(level) {
            function.instruction(&Instruction::LocalGet(variable));
            function.instruction(&Instruction::I32Const(1));
            function.instruction(&Instruction::I32Add);
            function.instruction(&Instruction::LocalSet(variable));
        }
    }
    for level in 0..depth {
        if let Some(variable) = variable(level) {
            function.instruction(&Instruction::LocalGet(variable));
            function.instruction(&Instruction::BrIf(0));
        }
        function.instruction(&Instruction::End);
    }
    function.instruction(&Instruction::End);
    component([function])
}

/// One function with so many branches to one of so many targets.
#[must_use]
pub fn branch_tables(tables: usize, targets: usize) -> Vec<u8> {
    let mut function = Function::new([]);
    for _ in 0..tables {
        function.instruction(&Instruction::Block(BlockType::Empty));
        function.instruction(&Instruction::I32Const(0));
        function.instruction(&Instruction::BrTable(vec![0; targets].into(), 0));
        function.instruction(&Instruction::End);
    }
    function.instruction(&Instruction::End);
    component([function])
}

/// So many functions that do nothing.
#[must_use]
pub fn functions(count: usize) -> Vec<u8> {
    let empty = || {
        let mut function = Function::new([]);
        function.instruction(&Instruction::End);
        function
    };
    component((0..count).map(|_| empty()))
}

/// So many zeros as Zstandard packs them (RFC 8878): blocks that repeat one byte, of 4 bytes for each 128 KiB.
#[must_use]
pub fn zstd_of_zeros(bytes: usize) -> Vec<u8> {
    const BLOCK: usize = 128 << 10;
    // The magic number, no options, and a window of 1 MiB.
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    let blocks = bytes.div_ceil(BLOCK);
    for nth in 1..=blocks {
        let [low, middle, high, ..] = (BLOCK << 3 | 1 << 1 | usize::from(nth == blocks)).to_le_bytes();
        packed.extend([low, middle, high, 0]);
    }
    packed
}

/// A component with one module, which has these functions.
fn component(bodies: impl IntoIterator<Item = Function>) -> Vec<u8> {
    let (mut types, mut functions, mut code) = (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([], []);
    for body in bodies {
        functions.function(0);
        code.function(&body);
    }
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    let mut component = Component::new();
    component.section(&ModuleSection(&module));
    component.finish()
}
