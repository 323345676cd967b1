//! Requests in the form of AWS's Query protocols: `Action`, `Version`, and lists whose items are numbered from 1 on.

/// The names and values of one request, in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestForm {
    pairs: Vec<(String, String)>,
    filters: usize,
}

impl RequestForm {
    /// A request for this action of this version of an API.
    #[must_use]
    #[inline]
    pub fn new(action: &str, version: &str) -> Self {
        Self { pairs: Vec::new(), filters: 0 }.with("Action", action).with("Version", version)
    }

    /// Adds one value.
    #[must_use]
    pub fn with(self, name: impl Into<String>, value: impl ToString) -> Self {
        self.and(name.into(), value.to_string())
    }

    /// As [`Self::with`]. It is compiled once, and not for each type of a value.
    #[inline]
    fn and(mut self, name: String, value: String) -> Self {
        self.pairs.push((name, value));
        self
    }

    /// Adds one value, if there is one.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a list as EC2 takes it: `InstanceId.1`, `InstanceId.2`.
    #[must_use]
    pub fn list<V: ToString>(self, name: &str, values: impl IntoIterator<Item = V>) -> Self {
        self.numbered(name, &mut values.into_iter().map(|it| it.to_string()))
    }

    /// As [`Self::list`], compiled once.
    #[inline]
    fn numbered(self, name: &str, values: &mut dyn Iterator<Item = String>) -> Self {
        values.zip(1..).fold(self, |it, (value, number): (_, usize)| it.and(format!("{name}.{number}"), value))
    }

    /// Adds a filter of EC2: what has one of these values.
    #[must_use]
    pub fn filter<V: ToString>(self, name: &str, values: impl IntoIterator<Item = V>) -> Self {
        self.filtered(name, &mut values.into_iter().map(|it| it.to_string()))
    }

    /// As [`Self::filter`], compiled once.
    #[inline]
    fn filtered(mut self, name: &str, values: &mut dyn Iterator<Item = String>) -> Self {
        self.filters += 1;
        let filter = format!("Filter.{}", self.filters);
        self.with(format!("{filter}.Name"), name).numbered(&format!("{filter}.Value"), values)
    }

    /// The action.
    #[must_use]
    #[inline]
    pub fn action(&self) -> &str {
        self.pairs.first().map_or("", |(_, action)| action)
    }

    /// All names and values.
    #[must_use]
    #[inline]
    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::RequestForm;

    #[test]
    fn lists_and_filters_are_numbered_from_one() {
        let form = RequestForm::new("DescribeInstances", "2016-11-15")
            .list("InstanceId", ["i-1", "i-2"])
            .filter("tag-key", ["a/b"])
            .with("MaxResults", 5)
            .filter("state", ["x", "y"])
            .with_some("NextToken", None::<&str>);
        assert_eq!(form.action(), "DescribeInstances");
        let pairs: Vec<_> = form.into_pairs().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "Action=DescribeInstances",
            "Version=2016-11-15",
            "InstanceId.1=i-1",
            "InstanceId.2=i-2",
            "Filter.1.Name=tag-key",
            "Filter.1.Value.1=a/b",
            "MaxResults=5",
            "Filter.2.Name=state",
            "Filter.2.Value.1=x",
            "Filter.2.Value.2=y",
        ];
        assert_eq!(pairs, expected);
    }
}
