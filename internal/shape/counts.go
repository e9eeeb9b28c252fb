// SPDX-License-Identifier: Apache-2.0

package shape

// Counts are the numbers of a module that `make counts` prints.
type Counts struct {
	Methods, Away       int // of files other than tests
	OneWord, Unexported int // unexported methods of one word, and of any
	Types, Participles  int
	Sentences, Vague    int
}

// Count counts what the files hold.
func Count(files []*File) Counts {
	var c Counts
	methods := Methods(WithoutTests(files))
	single, unexported := OneWord(methods)
	c.Methods, c.OneWord, c.Unexported = len(methods), len(single), unexported
	for _, m := range methods {
		c.Away += bit(m.Away)
	}
	for _, t := range Types(files) {
		c.Types++
		c.Participles += bit(t.Participle)
	}
	for _, s := range Sentences(files) {
		c.Sentences++
		c.Vague += bit(s.Vague)
	}
	return c
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// WithoutTests returns the files that are not compiled for tests only.
func WithoutTests(files []*File) []*File {
	var kept []*File
	for _, f := range files {
		if !f.Test() {
			kept = append(kept, f)
		}
	}
	return kept
}

// Percent returns what part is of all, from 0 to 100; 0 of nothing.
func Percent(part, all int) float64 { return 100 * float64(part) / float64(max(all, 1)) }
