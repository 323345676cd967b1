// Package annotations has rows of a table: each reads one annotation of a Service, refuses what cannot be meant, and describes it.
package annotations

import (
	"fmt"
	"strconv"
	"strings"

	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/types"
)

// Row is one annotation. An empty value counts as not written.
type Row[T any] struct {
	// Key may have one "*" for what the Service's author chooses: "acme.example/port-*-protocol".
	Key, Doc string
	// Form says which values are allowed.
	Form Form[T]
	// Default holds where nothing is written, as an author would write it; "": nothing holds.
	Default string
}

// Form is the form of a value.
type Form[T any] interface {
	// Values are the allowed ones, for people: "tcp or http".
	Values() string
	// Parse reads a text; false where it is not allowed.
	Parse(text string) (T, bool)
}

// Part is a value of a row whose key has a "*", and what stands in its place.
type Part[T any] struct {
	Name  string
	Value T
}

// Get is its value among these annotations of a Service, or its default; nil where there is neither.
func (it Row[T]) Get(annotations [][2]string) (*T, error) {
	return it.named(annotations, it.Key)
}

// At is the same of a row whose key has a "*", with part in its place: of "acme.example/port-*-protocol" the one for port 443, say.
func (it Row[T]) At(annotations [][2]string, part any) (*T, error) {
	return it.named(annotations, strings.Replace(it.Key, "*", fmt.Sprint(part), 1))
}

// Each is all that is written of a row whose key has a "*", in the order of the annotations. Ports that the Service does not have are
// among them: say so, rather than pass over a typing error.
func (it Row[T]) Each(annotations [][2]string) ([]Part[T], error) {
	before, after, hasStar := strings.Cut(it.Key, "*")
	var parts []Part[T]
	for _, pair := range annotations {
		part, begins := strings.CutPrefix(pair[0], before)
		part, ends := strings.CutSuffix(part, after)
		if !hasStar || !begins || !ends || part == "" || strings.Contains(part, "/") || strings.TrimSpace(pair[1]) == "" {
			continue
		}
		value, err := it.parse(pair[0], pair[1])
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part[T]{Name: part, Value: value})
	}
	return parts, nil
}

// Annotation describes it.
func (it Row[T]) Annotation() provider.Annotation {
	described := provider.Annotation{Key: it.Key, Values: it.Form.Values(), Doc: it.Doc}
	if it.Default != "" {
		described.Default = &it.Default
	}
	return described
}

func (it Row[T]) named(annotations [][2]string, key string) (*T, error) {
	text := it.Default
	for _, pair := range annotations {
		if pair[0] == key && strings.TrimSpace(pair[1]) != "" {
			text = pair[1]
		}
	}
	if text == "" {
		return nil, nil
	}
	value, err := it.parse(key, text)
	if err != nil {
		return nil, err
	}
	return &value, nil
}

func (it Row[T]) parse(key, text string) (T, error) {
	text = strings.TrimSpace(text)
	value, isAllowed := it.Form.Parse(text)
	if !isAllowed {
		return value, types.Invalidf("annotation %s: %q is not %s", key, text, it.Form.Values())
	}
	return value, nil
}

// Text is anything, in the words of Allowed for people.
type Text struct{ Allowed string }

// Values are the allowed ones, for people.
func (it Text) Values() string { return it.Allowed }

// Parse takes it as it is written.
func (it Text) Parse(text string) (string, bool) { return text, true }

// Integer is a whole number. Least and Most are allowed, too.
type Integer struct{ Least, Most int64 }

// Values are the allowed ones, for people.
func (it Integer) Values() string {
	return fmt.Sprintf("a whole number from %d to %d", it.Least, it.Most)
}

// Parse reads a number without a sign before it.
func (it Integer) Parse(text string) (int64, bool) {
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil && !strings.HasPrefix(text, "+") && number >= it.Least && number <= it.Most
}

// OneOf is one of these words.
type OneOf []string

// Values are the allowed ones, for people.
func (it OneOf) Values() string {
	if len(it) < 2 {
		return strings.Join(it, "")
	}
	return strings.Join(it[:len(it)-1], ", ") + " or " + it[len(it)-1]
}

// Parse takes a word as it is written.
func (it OneOf) Parse(text string) (string, bool) {
	for _, word := range it {
		if word == text {
			return word, true
		}
	}
	return "", false
}
