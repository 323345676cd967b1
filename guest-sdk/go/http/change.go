package http

import "errors"

// Change sends a change, and reads the answer into a value as Into does. Most clouds carry out one change of an object at a time: a
// text is what the cloud says while an earlier one is under way (409, 423). That is no failure: answer pending.
func (it *Call) Change(value any) (busy string, err error) {
	response, err := it.Answer()
	if err != nil {
		return "", err
	}
	if isBusy(response) {
		return it.complaint(response), nil
	}
	return "", it.read(response, value)
}

// ChangeOrGone is Change for a deletion: what is not there was deleted before.
func (it *Call) ChangeOrGone() (busy string, err error) {
	response, err := it.Answer()
	if err != nil || response.Status == 404 || response.Status == 410 {
		return "", err
	}
	if isBusy(response) {
		return it.complaint(response), nil
	}
	return "", it.read(response, nil)
}

// Create sends a creation whose name the cloud chooses, and reads the answer into a value. A text says that it may have been carried
// out or not: the answer was lost, cannot be read, or is 500 or more, 408 or 499; or it is one of those after which isUnclear says
// that there may be one, such as "the name is taken". An error is that certainly nothing was created.
func (it *Call) Create(value any, isUnclear func(Response) bool) (unclear string, err error) {
	if it.broken != nil {
		return "", it.broken
	}
	response, err := Send(it.request)
	if err != nil {
		var interrupted ErrorInterrupted
		if errors.As(err, &interrupted) {
			return it.unanswered(err).Error(), nil
		}
		return "", it.unanswered(err)
	}
	status := response.Status
	if status >= 500 || status == 408 || status == 499 || isUnclear != nil && isUnclear(response) {
		return it.complaint(response), nil
	}
	if err := it.read(response, value); err != nil {
		if status >= 200 && status < 300 {
			// It was accepted, also if the body cannot be read.
			return err.Error(), nil
		}
		return "", err
	}
	return "", nil
}

func isBusy(response Response) bool { return response.Status == 409 || response.Status == 423 }
