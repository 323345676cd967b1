// Package settings has rows of a table: each reads one setting of the operator, refuses what cannot be meant, and describes it.
package settings

import (
	"time"

	"aerostat.dev/sdk/config"
	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/types"
)

// Row is one setting.
type Row interface {
	// Setting is its description.
	Setting() provider.Setting
	// Check says why its value cannot be meant.
	Check() error
}

// Describe is the description of these settings. It refuses a value that cannot be meant, so that the operator sees it at load.
func Describe(rows ...Row) ([]provider.Setting, error) {
	described := make([]provider.Setting, len(rows))
	for i, row := range rows {
		if err := row.Check(); err != nil {
			return nil, err
		}
		described[i] = row.Setting()
	}
	return described, nil
}

// Span is a time, as Go writes it: "1m30s".
type Span struct {
	Name, Doc string
	// Default holds where nothing is written. Least and Most are allowed, too.
	Default, Least, Most time.Duration
}

// Get is its value.
func (it Span) Get() (time.Duration, error) {
	text, isWritten := config.Setting(it.Name)
	if !isWritten {
		return it.Default, nil
	}
	value, err := time.ParseDuration(text)
	if err != nil || value < it.Least || value > it.Most {
		return 0, types.Invalidf("setting %s: %q is no time from %v to %v, such as %v", it.Name, text, it.Least, it.Most, it.Default)
	}
	return value, nil
}

// Setting describes it.
func (it Span) Setting() provider.Setting {
	return provider.Setting{Name: it.Name, Default: new(it.Default.String()), Doc: it.Doc}
}

// Check says why its value cannot be meant.
func (it Span) Check() error {
	_, err := it.Get()
	return err
}

// Text is one as it is written.
type Text struct {
	Name, Doc string
	// Default holds where nothing is written.
	Default string
	// IsRequired tells whether the provider cannot work without it.
	IsRequired bool
}

// Get is its value.
func (it Text) Get() (string, error) {
	text, isWritten := config.Setting(it.Name)
	switch {
	case isWritten:
		return text, nil
	case it.IsRequired:
		return "", types.Invalidf("setting %s: it is not written, and needed", it.Name)
	}
	return it.Default, nil
}

// Setting describes it.
func (it Text) Setting() provider.Setting {
	described := provider.Setting{Name: it.Name, Required: it.IsRequired, Doc: it.Doc}
	if it.Default != "" {
		described.Default = &it.Default
	}
	return described
}

// Check says why its value cannot be meant.
func (it Text) Check() error {
	_, err := it.Get()
	return err
}
