// SPDX-License-Identifier: Apache-2.0

package external

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// Format implements [fmt.Formatter]: options print like any struct, except that
// the keys are empty.
func (o Options) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), o.public())
}

// LogValue implements [slog.LogValuer]: options are logged without the keys.
func (o Options) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("%+v", o.public())) }

// public returns the options with empty keys, as a type without methods.
func (o Options) public() any {
	type options = Options
	type Options options // the name that %#v prints
	keys := maps.Clone(o.Keys)
	for version := range keys {
		keys[version] = nil
	}
	o.Keys = keys
	return Options(o)
}

// Format implements [fmt.Formatter]: it prints how the codec hides IDs, and not
// with which keys.
func (c Codec) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "external.Codec{%v", c.opts.Mode)
	if c.opts.Mode == Keyed {
		fmt.Fprintf(f, " %v, keys %v", c.opts.Cipher, slices.Sorted(maps.Keys(c.opts.Keys)))
	}
	fmt.Fprint(f, "}")
}
