//! Figures of several contenders, and the ratios between ours and the best of the others.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::contender::{Contender, Program};
use crate::requests::Kinds;
use crate::table::Table;
use crate::usage::Used;

/// The aim for memory and CPU time.
pub(crate) const HALF: &str = "ratio 0.5 or less";

/// A table with a column for each contender, one for the ratio of each of ours, and one for what is wanted.
pub(crate) struct Comparison {
    table: Table,
    contenders: Vec<Contender>,
}

impl Comparison {
    pub(crate) fn new(title: &str, contenders: &[Contender]) -> Comparison {
        let names = contenders.iter().map(|it| it.name().to_owned());
        let ratios = ours(contenders).map(|it| format!("ratio{}", it.flags.suffix()));
        let columns: Vec<_> = names.chain(ratios).chain(["wanted".to_owned()]).collect();
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        Comparison { table: Table::new(title, &columns), contenders: contenders.to_vec() }
    }

    /// A figure of each contender; the less, the better. Infinite: it has not come about. Absent: it makes no sense there.
    pub(crate) fn row(&mut self, name: &str, figures: &[Option<f64>], show: fn(f64) -> String, wanted: &str) {
        let of = |programs: &'static [Program]| {
            let both = self.contenders.iter().zip(figures);
            both.filter(|(contender, _)| programs.contains(&contender.program)).map(|(_, figure)| *figure)
        };
        let best = of(&[Program::Baseline, Program::ControllerManager, Program::Vendor]).flatten().reduce(f64::min);
        let ratio = |figure: Option<f64>| match (figure, best) {
            (Some(figure), Some(best)) if best > 0.0 => format!("{:.3}", figure / best),
            _ => String::new(),
        };
        let cells = cells(figures, show).chain(of(&[Program::Aerostat]).map(ratio)).chain([wanted.to_owned()]);
        self.table.row(name, &cells.collect::<Vec<_>>());
    }

    /// A figure that explains the one above it, and is not compared.
    pub(crate) fn detail(&mut self, name: &str, figures: &[Option<f64>], show: fn(f64) -> String) {
        self.table.row(&format!("  {name}"), &cells(figures, show).collect::<Vec<_>>());
    }

    /// How many requests there were of each kind.
    pub(crate) fn details(&mut self, kinds: &[Kinds]) {
        for kind in kinds.iter().flat_map(|it| it.keys()).collect::<BTreeSet<_>>() {
            let figures: Vec<_> = kinds.iter().map(|it| it.get(kind).copied()).collect();
            self.detail(kind, &figures, count);
        }
    }

    /// Memory at the end of a measurement, and CPU time during it.
    pub(crate) fn usage(&mut self, used: &[Option<Used>]) {
        let figures = |of: fn(&Used) -> f64| used.iter().map(|it| it.as_ref().map(of)).collect::<Vec<_>>();
        self.row("peak RSS", &figures(|it| it.after.peak as f64), megabytes, HALF);
        self.row("RSS at the end", &figures(|it| it.after.resident as f64), megabytes, HALF);
        self.row("CPU time", &figures(Used::cpu), seconds, HALF);
        self.detail("since the start", &figures(|it| it.after.cpu.as_secs_f64()), seconds);
    }

    pub(crate) fn print(&self) -> Result<()> {
        self.table.print()
    }
}

fn cells(figures: &[Option<f64>], show: fn(f64) -> String) -> impl Iterator<Item = String> {
    figures.iter().map(move |figure| match figure {
        Some(it) if it.is_infinite() => "never".to_owned(),
        Some(it) => show(*it),
        None => String::new(),
    })
}

fn ours(contenders: &[Contender]) -> impl Iterator<Item = &Contender> {
    contenders.iter().filter(|it| it.program == Program::Aerostat)
}

/// A whole number.
pub(crate) fn count(figure: f64) -> String {
    // Nothing, summed up, is a zero with a sign.
    format!("{:.0}", figure + 0.0)
}

/// A number with two digits behind the point.
pub(crate) fn hundredths(figure: f64) -> String {
    format!("{figure:.2}")
}

/// Seconds with two digits behind the point.
pub(crate) fn seconds(figure: f64) -> String {
    format!("{figure:.2} s")
}

/// Bytes in millions.
pub(crate) fn megabytes(figure: f64) -> String {
    format!("{:.1} MB", figure / 1e6)
}
