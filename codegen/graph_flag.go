// SPDX-License-Identifier: Apache-2.0

package codegen

// graphFlag is the flag -graph, alone or with a language.
type graphFlag struct{ language *string }

// String returns the language.
func (f *graphFlag) String() string {
	if f.language == nil {
		return ""
	}
	return *f.language
}

// Set takes the language; the flag package says "true" for the flag alone.
func (f *graphFlag) Set(text string) error {
	switch text {
	case "true":
		text = GraphMermaid
	case "false":
		text = ""
	}
	*f.language = text
	return nil
}

// IsBoolFlag tells the flag package that the flag may stand alone.
func (f *graphFlag) IsBoolFlag() bool { return true }
