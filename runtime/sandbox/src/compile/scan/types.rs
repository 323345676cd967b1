//! Types of components, which may hold types that hold types: the parser reads these by recursion, so they are taken
//! apart here, level by level.

use wasmparser::{BinaryReader, ComponentType, ComponentTypeDeclaration, ComponentTypeSectionReader};

use super::{Scan, ScanRefusal};

/// The first byte of a declaration that is a type.
const TYPE: u8 = 0x01;
/// The first bytes of the types that hold declarations: a component's, and an instance's.
const COMPONENT: u8 = 0x41;
const INSTANCE: u8 = 0x42;

impl Scan<'_> {
    pub(super) fn component_types(&mut self, section: &ComponentTypeSectionReader<'_>) -> Result<(), ScanRefusal> {
        let start = section.original_position();
        let bytes = self.bytes.get(start..section.range().end).unwrap_or_default();
        let mut reader = BinaryReader::new(bytes, start);
        // What is left to read: of the section, of a type in it, of a type in that.
        let mut open = vec![section.count()];
        while let Some(left) = open.last_mut() {
            if *left == 0 {
                open.pop();
                continue;
            }
            *left -= 1;
            self.types(1)?;
            // In a section there are types, in a type there are declarations, some of which are types.
            if open.len() > 1 {
                if peek(&reader)? != TYPE {
                    reader.read::<ComponentTypeDeclaration<'_>>()?;
                    continue;
                }
                reader.read_u8()?;
            }
            match peek(&reader)? {
                COMPONENT | INSTANCE => {
                    reader.read_u8()?;
                    open.push(reader.read_var_u32()?);
                    self.nesting(open.len() as u64 - 1)?;
                }
                _ => {
                    reader.read::<ComponentType<'_>>()?;
                }
            }
        }
        Ok(())
    }
}

fn peek(reader: &BinaryReader<'_>) -> Result<u8, ScanRefusal> {
    Ok(reader.clone().read_u8()?)
}
