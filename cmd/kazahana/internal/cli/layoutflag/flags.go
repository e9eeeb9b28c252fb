// SPDX-License-Identifier: Apache-2.0

package layoutflag

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Flags are the flags of a layout.
type Flags struct{ epoch, bits string }

// Add adds the flags to a set.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.epoch, "epoch", "2026-01-01T00:00:00Z", "`time` of timestamp zero: RFC 3339, or Unix milliseconds")
	flags.StringVar(&f.bits, "bits", "1+41+14+8", "bits of the `layout`: reserve+timestamp+machine+sequence, 64 in all")
}

// Layout returns the layout that the flags describe, checked.
func (f *Flags) Layout(cmd *cobra.Command) (idgen.Layout, error) {
	epoch, err := ParseEpoch(f.epoch)
	if err != nil {
		return idgen.Layout{}, shell.Misuse(cmd, fmt.Errorf("--epoch %q: %w", f.epoch, err))
	}
	l, err := ParseBits(epoch, f.bits)
	if err != nil {
		return l, shell.Misuse(cmd, fmt.Errorf("--epoch %s --bits %q: %w", f.epoch, f.bits, err))
	}
	return l, nil
}

// ParseBits returns the layout of "reserve+timestamp+machine+sequence", checked.
func ParseBits(epochMs int64, text string) (l idgen.Layout, err error) {
	l.CustomEpochMs = epochMs
	parts := []*int{&l.BitReserve, &l.BitTs, &l.BitID, &l.BitSeq}
	words := strings.Split(text, "+")
	if len(words) != len(parts) {
		return l, errors.New("want four numbers, as in 1+41+14+8")
	}
	for i, word := range words {
		if *parts[i], err = strconv.Atoi(word); err != nil {
			return l, fmt.Errorf("%q is not a number", word)
		}
	}
	return l, l.Validate()
}

// ParseEpoch returns a time as Unix milliseconds: RFC 3339, or milliseconds
// already.
func ParseEpoch(text string) (ms int64, err error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("it is neither a time such as 2026-01-01T00:00:00Z nor Unix milliseconds")
	}
	return t.UnixMilli(), nil
}
