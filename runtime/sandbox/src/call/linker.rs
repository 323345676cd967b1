use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker};

use super::state::StoreState;
use super::wasi;
use crate::bindings::host::Host_;

/// Links what a guest may import: our own interfaces, and the inert parts of WASI.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<StoreState>> {
    let mut linker = Linker::new(engine);
    Host_::add_to_linker::<_, HasSelf<StoreState>>(&mut linker, |it| it)?;
    wasi::add_to_linker(&mut linker)?;
    Ok(linker)
}
