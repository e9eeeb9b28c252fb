// SPDX-License-Identifier: Apache-2.0

package cli

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

func (c *command) id() *cobra.Command {
	return shell.Group("id", "Make, explain and convert IDs", c.idNew(), c.idInspect(), c.idEncode(), c.idDecode())
}

// layoutFlags say where the parts of IDs are.
type layoutFlags struct{ epoch, bits string }

func (f *layoutFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.epoch, "epoch", "2026-01-01T00:00:00Z", "`time` of timestamp zero: RFC 3339, or Unix milliseconds")
	flags.StringVar(&f.bits, "bits", "1+41+14+8", "bits of the `layout`: reserve+timestamp+machine+sequence, 64 in all")
}

// layout returns the layout, checked.
func (f *layoutFlags) layout(cmd *cobra.Command) (idgen.Layout, error) {
	epoch, err := parseEpoch(f.epoch)
	if err != nil {
		return idgen.Layout{}, shell.Misuse(cmd, fmt.Errorf("--epoch %q: %w", f.epoch, err))
	}
	l, err := parseBits(epoch, f.bits)
	if err != nil {
		return l, shell.Misuse(cmd, fmt.Errorf("--epoch %s --bits %q: %w", f.epoch, f.bits, err))
	}
	return l, nil
}

// parseBits returns the layout of "reserve+timestamp+machine+sequence", checked.
func parseBits(epochMs int64, text string) (l idgen.Layout, err error) {
	l.EpochMs = epochMs
	parts := []*int{&l.BitReserve, &l.BitTs, &l.BitID, &l.BitSeq}
	words := strings.Split(text, "+")
	if len(words) != len(parts) {
		return l, errors.New("want four numbers, as in 1+41+14+8")
	}
	for i, word := range words {
		if *parts[i], err = strconv.Atoi(word); err != nil {
			return l, fmt.Errorf("%q is no number", word)
		}
	}
	return l, l.Validate()
}

func parseEpoch(text string) (ms int64, err error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("it is neither a time such as 2026-01-01T00:00:00Z nor Unix milliseconds")
	}
	return t.UnixMilli(), nil
}

// breakdown is an ID taken apart.
type breakdown struct {
	ID       idgen.ID  `json:"id"`
	External string    `json:"external,omitempty"` // where it was asked for by this
	Hex      string    `json:"hex"`
	Time     time.Time `json:"time"`
	UnixMs   int64     `json:"unixMs"`
	Machine  int       `json:"machine"`  // as ID.MachineID has it: with the fallback bit
	Leased   int       `json:"leased"`   // without it: the machine id of a lease of the layout's size
	Sequence int       `json:"sequence"` // within the millisecond
	Fallback bool      `json:"fallback"` // made without a valid lease
	Kind     kind      `json:"kind"`
}

// kind is what can be told of how an ID was made.
type kind string

const (
	leasedID       kind = "leased"          // under a lease
	randomFallback kind = "random_fallback" // in positions where no lease is continued
	// Behind a lease that had just ended, which makes it unique, unless a client
	// without a provider made it: then it is random. The bits do not tell.
	otherFallback kind = "cached_or_standalone_fallback"
)

func kindOf(l idgen.Layout, id idgen.ID) kind {
	position := uint64(l.MachineID(id)&(1<<(l.BitID-1)-1))<<l.BitSeq | uint64(l.Sequence(id))
	switch {
	case !l.IsFallback(id):
		return leasedID
	case position >= l.FallbackPositions():
		return randomFallback
	}
	return otherFallback
}

func breakDown(l idgen.Layout, id idgen.ID) breakdown {
	t := l.Time(id)
	return breakdown{
		ID: id, Hex: fmt.Sprintf("%#016x", int64(id)), Time: t, UnixMs: t.UnixMilli(), Machine: l.MachineID(id),
		Leased: l.MachineID(id) & (1<<(l.BitID-1) - 1), Sequence: l.Sequence(id), Fallback: l.IsFallback(id), Kind: kindOf(l, id),
	}
}

// about explains a kind.
func (b breakdown) about() string {
	switch b.Kind {
	case randomFallback:
		return "fallback: random, made without a lease; unique by odds"
	case otherFallback:
		return fmt.Sprintf("fallback: continued behind the lease of machine %d, and unique; or random, if a client without a provider made it", b.Leased)
	}
	return "leased"
}

func (b breakdown) Lines() []string {
	pairs := []any{"id", b.ID}
	if b.External != "" {
		pairs = append(pairs, "external", b.External)
	}
	return append(shell.Fields(append(pairs, "hex", b.Hex, "time", b.Time.Format("2006-01-02T15:04:05.000Z07:00"),
		"machine", b.Machine, "sequence", b.Sequence, "kind", b.about())...), "")
}
