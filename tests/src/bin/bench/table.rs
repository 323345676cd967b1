//! Figures in columns.

use std::io::Write;

use anyhow::Result;

/// A table with a title, and a name for each row and column.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Table {
        Table { rows: vec![cells(title, columns.iter().map(|it| (*it).to_owned()))] }
    }

    pub(crate) fn row(&mut self, name: &str, figures: &[String]) {
        self.rows.push(cells(&format!("  {name}"), figures.iter().cloned()));
    }

    pub(crate) fn print(&self) -> Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| self.rows.iter().filter_map(|it| it.get(column)).map(|it| it.chars().count()).max();
        let widths: Vec<_> = (0..columns).map(|it| width(it).unwrap_or_default()).collect();
        let mut out = std::io::stdout().lock();
        writeln!(out)?;
        for row in &self.rows {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let width = *width;
                line += &if index == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(out.flush()?)
    }
}

/// A table with ours, what was recorded of the vendor's manager, and what is wanted.
pub(crate) fn beside_vendor(title: &str) -> Table {
    Table::new(title, &["aerostat", "vendor, recorded", "wanted"])
}

/// A row of it.
pub(crate) fn row(table: &mut Table, name: &str, ours: String, vendor: &str, wanted: &str) {
    table.row(name, &[ours, vendor.to_owned(), wanted.to_owned()]);
}

fn cells(first: &str, rest: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(rest).collect()
}
