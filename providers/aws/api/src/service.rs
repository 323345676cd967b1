//! One of AWS's APIs.

use aerostat_sdk::Error;
use aerostat_sdk::http;

use crate::errors::{self, AskedRequest, AwsRefusal};
use crate::form::RequestForm;
use crate::xml::{self, Element};

/// One of AWS's APIs.
#[derive(Clone, Copy, Debug)]
pub struct AwsApi {
    /// The name of the endpoint.
    pub endpoint: &'static str,
    /// The beginning of its actions in policies: `ec2`.
    pub service: &'static str,
    /// Its version, which every request names.
    pub version: &'static str,
}

/// EC2: machines, networks, volumes.
pub const EC2: AwsApi = AwsApi { endpoint: "ec2", service: "ec2", version: "2016-11-15" };

impl AwsApi {
    /// A request for this action.
    #[must_use]
    #[inline]
    pub fn action(self, action: &str) -> RequestForm {
        RequestForm::new(action, self.version)
    }

    /// Sends a request, and reads the answer.
    ///
    /// # Errors
    ///
    /// The error that AWS answered, or why its answer cannot be read.
    #[inline]
    pub fn call(self, form: RequestForm) -> Result<Element, AwsRefusal> {
        self.send(form, &[], &mut |_| ())
    }

    /// Sends a request, and hands over each element at this path of its answer. Returns the rest of the answer.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub fn each(self, form: RequestForm, path: &[&str], mut each: impl FnMut(Element)) -> Result<Element, AwsRefusal> {
        self.send(form, path, &mut each)
    }

    /// As [`Self::each`]. It is not generic: compiled for each caller, it would make the module larger by 65 KB.
    #[inline]
    fn send(self, form: RequestForm, path: &[&str], each: &mut dyn FnMut(Element)) -> Result<Element, AwsRefusal> {
        let action = form.action().to_owned();
        let asked = AskedRequest { endpoint: self.endpoint, service: self.service, action: &action };
        let request = http::post(self.endpoint, [""; 0]).header("accept", "text/xml").form(form.into_pairs());
        let response = request.answer()?;
        if !response.is_success() {
            return Err(errors::refusal(asked, &response));
        }
        xml::read_each(response.body(), path, each).map_err(|why| errors::unreadable(asked, &why))
    }

    /// The refusal of a creation that was carried out, and whose answer does not say what was made.
    #[must_use]
    #[inline]
    pub fn empty(self, action: &str) -> AwsRefusal {
        let endpoint = self.endpoint;
        Error::unavailable(format_args!("{action} at endpoint {endpoint}: the answer does not say what was made"))
            .into()
    }

    /// The refusal of a list that goes on with its own page.
    #[must_use]
    #[inline]
    pub fn endless(self, action: &str) -> AwsRefusal {
        let endpoint = self.endpoint;
        Error::unavailable(format_args!("{action} at endpoint {endpoint}: the list does not end")).into()
    }
}
