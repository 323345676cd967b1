package http

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// mostWords is how many bytes of the cloud's own text an error has.
const mostWords = 400

// Says tells whether the cloud's own words in an answer have this part, for clouds without a code for the case.
func (it *Call) Says(response Response, part string) bool {
	return strings.Contains(it.said(response.Body), part)
}

// complaint is the answer for a person: the request, the status and the cloud's own words.
func (it *Call) complaint(response Response) string {
	return fmt.Sprintf("%s: %d%s", it.asked(), response.Status, it.said(response.Body))
}

// said is the text for a body, where this cloud has it.
func (it *Call) said(body []byte) string {
	if len(it.words) == 0 {
		return usualWords(body)
	}
	if text, is := field(body, it.words).(string); is && text != "" {
		return " " + text[:min(len(text), mostWords)]
	}
	return usualWords(body)
}

// field is the value that names and places in lists lead to, or nil.
func field(body []byte, path []string) any {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return nil
	}
	for _, name := range path {
		switch it := value.(type) {
		case map[string]any:
			value = it[name]
		case []any:
			place, err := strconv.Atoi(name)
			if err != nil || place < 0 || place >= len(it) {
				return nil
			}
			value = it[place]
		default:
			return nil
		}
	}
	return value
}

// usualWords is the cloud's own text where most have it, as far as it is short and no page.
func usualWords(body []byte) string {
	var told struct {
		Message, Detail, Title, Reason string
		Error                          json.RawMessage
		Errors                         []json.RawMessage
	}
	if json.Unmarshal(body, &told) == nil {
		for _, text := range []string{told.Message, told.Detail, told.Title, told.Reason} {
			if text != "" {
				return " " + text[:min(len(text), mostWords)]
			}
		}
		for _, inner := range append([]json.RawMessage{told.Error}, told.Errors...) {
			if text := usualWords(inner); text != "" {
				return text
			}
		}
		return ""
	}
	text := strings.TrimSpace(string(body))
	if text == "" || strings.ContainsAny(text[:1], "<{[") {
		return ""
	}
	text = strings.Trim(text, `"`)
	return " " + text[:min(len(text), mostWords)]
}
