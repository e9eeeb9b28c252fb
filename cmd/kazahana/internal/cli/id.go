// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// idCommand returns kazahana id.
func idCommand(c *shell.Console) *cobra.Command {
	return shell.Group("id", "Make, explain and convert IDs", newIDCommand(c), inspectCommand(c), encodeCommand(c), decodeCommand(c))
}

// idBatch is how many IDs are made at a time.
const idBatch = 1024

func newIDCommand(c *shell.Console) *cobra.Command {
	var (
		count    int
		at       leasehome.Flags
		fallback bool
	)
	cmd := &cobra.Command{
		Use: "new", Short: "Make IDs", Args: shell.Arguments(cobra.NoArgs),
		Long: `Make IDs and write them, ascending, one a line; --json takes them apart.

With --leases the command makes them under a lease, and they are unique in the service. If it gets no
lease it makes none, unless --fallback is given. Without --leases they are fallback IDs: their machine
and sequence are random, and two processes that make IDs in the same millisecond can make the same one.
` + leasehome.About,
		Example: "  kazahana id new\n  kazahana id new -n 3 --leases https://id.example.com --service payments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 1 {
				return shell.Misuse(cmd, errors.New("--count must be at least 1"))
			}
			if !at.Given() {
				l, err := at.Layout(cmd)
				if err != nil {
					return err
				}
				return makeIDs(cmd.Context(), c, idgen.Options{Layout: l}, count)
			}
			at.Creates = true
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				opts := idgen.Options{Provider: l.Provider, ServiceID: at.Service, DisableFallback: !fallback, Logger: c.Logger()}
				if cmd.Flags().Changed("epoch") || cmd.Flags().Changed("bits") {
					opts.Layout = l.Layout
				}
				if opts.DisableFallback {
					opts.Logger = slog.New(slog.DiscardHandler) // its message is the error
				}
				return makeIDs(ctx, c, opts, count)
			})
		},
	}
	at.Add(c, cmd)
	cmd.Flags().IntVarP(&count, "count", "n", 1, "how many")
	cmd.Flags().BoolVar(&fallback, "fallback", false, "make fallback IDs where no lease can be had")
	return cmd
}

// newID is a new ID. Its text is the number alone.
type newID struct{ idBreakdown }

func (n newID) Lines() []string { return []string{n.ID.String()} }

// makeIDs makes IDs and writes them. It releases the lease at the end, even after an error.
func makeIDs(ctx context.Context, c *shell.Console, opts idgen.Options, count int) (err error) {
	client, err := idgen.NewClient(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Shutdown(context.WithoutCancel(ctx))) }()
	ids := make([]idgen.ID, min(count, idBatch))
	for count > 0 {
		ids = ids[:min(count, len(ids))]
		if _, err := client.NextN(ctx, ids); err != nil {
			return err
		}
		for _, id := range ids {
			if err := c.Write(newID{breakDownID(client.Layout(), id)}); err != nil {
				return err
			}
		}
		count -= len(ids)
	}
	return nil
}

func inspectCommand(c *shell.Console) *cobra.Command {
	var (
		codec      codecFlags
		isExternal bool
	)
	cmd := &cobra.Command{
		Use: "inspect [id...]", Short: "Take IDs apart: time, machine, sequence, kind",
		Long: `Take IDs apart: time, machine, sequence, and whether they were made under a lease. IDs are
arguments or, without any, lines of the input.` + "\n" + aboutIDKeys,
		Example: "  kazahana id inspect 211469771380744768\n  kazahana id inspect --external --key-file order.key --type order 6PkiL_g23Gw",
		RunE: func(cmd *cobra.Command, args []string) error {
			return convertIDs(c, cmd, &codec, args, func(codec *external.Codec, l idgen.Layout, word string) (shell.Result, error) {
				if !isExternal {
					id, err := parseID(l, word)
					return breakDownID(l, id), err
				}
				id, err := codec.Decode(word)
				b := breakDownID(l, id)
				b.External = word
				return b, err
			})
		},
	}
	cmd.Flags().BoolVarP(&isExternal, "external", "x", false, "the IDs are in external form")
	codec.addTo(cmd)
	return cmd
}

func encodeCommand(c *shell.Console) *cobra.Command {
	var codec codecFlags
	cmd := &cobra.Command{
		Use: "encode [id...]", Short: "Write IDs in external form",
		Long: `Write IDs in external form, 11 characters of base64url. IDs are arguments or, without any,
lines of the input.` + "\n" + aboutIDKeys,
		Example: "  kazahana id encode 211469771380744768\n  kazahana id encode --key-file order.key --type order 211469771380744768",
		RunE: func(cmd *cobra.Command, args []string) error {
			return convertIDs(c, cmd, &codec, args, func(codec *external.Codec, l idgen.Layout, word string) (shell.Result, error) {
				id, err := parseID(l, word)
				if err != nil {
					return nil, err
				}
				return idConversion{ID: id, External: codec.Encode(id)}, nil
			})
		},
	}
	codec.addTo(cmd)
	return cmd
}

func decodeCommand(c *shell.Console) *cobra.Command {
	var codec codecFlags
	cmd := &cobra.Command{
		Use: "decode [text...]", Short: "Read IDs from their external form",
		Long: `Read IDs from their external form. Texts are arguments (after --, where they begin with a
hyphen) or, without any, lines of the input.` + "\n" + aboutIDKeys,
		Example: "  kazahana id decode OgB0XY30n3U\n  kazahana id decode --key-file order.key --type order -- 6PkiL_g23Gw",
		RunE: func(cmd *cobra.Command, args []string) error {
			return convertIDs(c, cmd, &codec, args, func(codec *external.Codec, _ idgen.Layout, word string) (shell.Result, error) {
				id, err := codec.Decode(word)
				return idConversion{ID: id, External: word, decoded: true}, err
			})
		},
	}
	codec.addTo(cmd)
	return cmd
}

// idConversion is an ID in both forms. Its text is the requested one.
type idConversion struct {
	ID       idgen.ID `json:"id"`
	External string   `json:"external"`
	decoded  bool
}

func (v idConversion) Lines() []string {
	if v.decoded {
		return []string{v.ID.String()}
	}
	return []string{v.External}
}

// convertIDs writes the conversion of each word.
func convertIDs(c *shell.Console, cmd *cobra.Command, flags *codecFlags, args []string, of func(codec *external.Codec, l idgen.Layout, word string) (shell.Result, error)) error {
	codec, err := flags.newCodec(cmd)
	if err != nil {
		return err
	}
	l, err := flags.Layout(cmd)
	if err != nil {
		return err
	}
	return c.Each(args, func(word string) error {
		r, err := of(codec, l, word)
		if err != nil {
			return err
		}
		return c.Write(r)
	})
}

// parseID reads an ID that a generator of the layout could have made.
func parseID(l idgen.Layout, word string) (idgen.ID, error) {
	id, err := idgen.Parse(word)
	if err != nil {
		return 0, err
	}
	if id.IsZero() || uint64(id)>>(64-l.ReserveBits) != 0 {
		return 0, fmt.Errorf("%w %s: not an ID of a layout with %d reserve bits", idgen.ErrInvalid, word, l.ReserveBits)
	}
	return id, nil
}

// keyVariable is the environment variable of the key of a version, 0 to 3.
const keyVariable = "KAZAHANA_EXTERNAL_KEY_"

const aboutIDKeys = `
IDs are scrambled unless --mode says otherwise. Scrambling needs no key, and hides nothing from a reader
who knows it. With --mode keyed or --key-file IDs are encrypted. A key has 16 bytes or more, in hexadecimal
(openssl rand -hex 32). It is in a file or in the environment, KAZAHANA_EXTERNAL_KEY_0 to _3, and never in
an argument, which other users of the machine can see.`

// codecFlags are the flags of external IDs.
type codecFlags struct {
	leasehome.LayoutFlags
	mode, cipher, typ string
	keyFiles          []string
	current           int
	maxAhead          time.Duration
}

func (f *codecFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.LayoutFlags.Add(flags)
	flags.StringVar(&f.mode, "mode", "scramble", "`mode`: scramble, plain or keyed")
	flags.StringVar(&f.cipher, "cipher", "speck64", "`cipher` of mode keyed: speck64 or xtea")
	flags.StringVar(&f.typ, "type", "", "`type` of the records, which has a subkey of its own")
	flags.StringArrayVar(&f.keyFiles, "key-file", nil, "`[version=]file` of a key; repeat it for keys of other versions")
	flags.IntVar(&f.current, "current", 0, "`version` of the key that IDs are encoded with")
	flags.DurationVar(&f.maxAhead, "max-ahead", 0, "refuse to decode IDs of a time further ahead than this `duration`; 0: do not look")
	completeFlag(cmd, "mode", "scramble", "plain", "keyed")
	completeFlag(cmd, "cipher", "speck64", "xtea")
}

// completeFlag makes shells complete a flag from words.
func completeFlag(cmd *cobra.Command, flag string, words ...string) {
	// It fails for a flag that does not exist.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// newCodec returns the codec that the flags describe.
func (f *codecFlags) newCodec(cmd *cobra.Command) (*external.Codec, error) {
	opts, err := f.codecOptions(cmd)
	if err != nil {
		return nil, err
	}
	codec, err := external.New(opts)
	if err != nil {
		return nil, shell.Misuse(cmd, err)
	}
	return codec.For(f.typ), nil
}

func (f *codecFlags) codecOptions(cmd *cobra.Command) (opts external.Options, err error) {
	if opts.Layout, err = f.Layout(cmd); err != nil {
		return opts, err
	}
	opts.Current, opts.MaxAhead = f.current, f.maxAhead
	if opts.Mode, err = choose(cmd, "mode", f.mode, external.Scramble, external.Plain, external.Keyed); err != nil {
		return opts, err
	}
	if opts.Cipher, err = choose(cmd, "cipher", f.cipher, external.Speck64, external.XTEA); err != nil {
		return opts, err
	}
	if len(f.keyFiles) > 0 && !cmd.Flags().Changed("mode") {
		opts.Mode = external.Keyed
	}
	if opts.Mode == external.Keyed {
		opts.Keys, err = f.readKeys(cmd)
	} else if len(f.keyFiles) > 0 {
		err = shell.Misuse(cmd, fmt.Errorf("--key-file is for --mode keyed, not for %v", opts.Mode))
	}
	return opts, err
}

// choose returns the value with the name that a flag has.
func choose[T fmt.Stringer](cmd *cobra.Command, flag, name string, values ...T) (T, error) {
	var names []string
	for _, v := range values {
		if v.String() == name {
			return v, nil
		}
		names = append(names, v.String())
	}
	return values[0], shell.Misuse(cmd, fmt.Errorf("--%s %q: want one of %s", flag, name, strings.Join(names, ", ")))
}

// readKeys reads the keys of the environment and of files. Files take precedence.
func (f *codecFlags) readKeys(cmd *cobra.Command) (map[int][]byte, error) {
	keys := map[int][]byte{}
	for version := range 4 {
		name := keyVariable + strconv.Itoa(version)
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		key, err := external.ParseKey([]byte(text))
		if err != nil {
			return nil, shell.Invalid(fmt.Errorf("%s: %w", name, err))
		}
		keys[version] = key
	}
	for _, word := range f.keyFiles {
		version, key, err := readIDKey(word)
		if err != nil {
			return nil, err
		}
		keys[version] = key
	}
	if len(keys) == 0 {
		return nil, shell.Misuse(cmd, errors.New("mode keyed needs a key: give --key-file, or set "+keyVariable+"0"))
	}
	return keys, nil
}

// readIDKey reads "[version=]file".
func readIDKey(word string) (version int, key []byte, err error) {
	file := word
	if before, after, ok := strings.Cut(word, "="); ok {
		if n, err := strconv.Atoi(before); err == nil {
			version, file = n, after
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, nil, fmt.Errorf("--key-file: %w", err)
	}
	if key, err = external.ParseKey(text); err != nil {
		return 0, nil, shell.Invalid(fmt.Errorf("--key-file %s: %w", file, err))
	}
	return version, key, nil
}

// idBreakdown has the parts of an ID.
type idBreakdown struct {
	ID       idgen.ID  `json:"id"`
	External string    `json:"external,omitempty"` // set if the input was an external ID
	Hex      string    `json:"hex"`
	Time     time.Time `json:"time"`
	UnixMs   int64     `json:"unixMs"`
	Machine  int       `json:"machine"`  // as ID.MachineID returns it: with the fallback bit
	Leased   int       `json:"leased"`   // without it: the machine id of a lease of the layout's size
	Sequence int       `json:"sequence"` // within the millisecond
	Fallback bool      `json:"fallback"` // made without a valid lease
	Kind     idKind    `json:"kind"`
}

// idKind says how an ID was made, as far as its bits show.
type idKind string

const (
	leasedID       idKind = "leased"          // under a lease
	randomFallback idKind = "random_fallback" // in positions that continue no lease
	// After a lease that had just ended, which makes it unique; or at random, by a client
	// without a provider. The bits do not show which.
	otherFallback idKind = "cached_or_standalone_fallback"
)

func idKindOf(l idgen.Layout, id idgen.ID) idKind {
	position := uint64(l.MachineID(id)&(1<<(l.MachineBits-1)-1))<<l.SequenceBits | uint64(l.Sequence(id))
	switch {
	case !l.IsFallback(id):
		return leasedID
	case position >= l.FallbackPositions():
		return randomFallback
	}
	return otherFallback
}

func breakDownID(l idgen.Layout, id idgen.ID) idBreakdown {
	t := l.Time(id)
	return idBreakdown{
		ID: id, Hex: fmt.Sprintf("%#016x", int64(id)), Time: t, UnixMs: t.UnixMilli(), Machine: l.MachineID(id),
		Leased: l.MachineID(id) & (1<<(l.MachineBits-1) - 1), Sequence: l.Sequence(id), Fallback: l.IsFallback(id), Kind: idKindOf(l, id),
	}
}

// explainKind explains a kind.
func (b idBreakdown) explainKind() string {
	switch b.Kind {
	case randomFallback:
		return "fallback: random, made without a lease; unique by odds"
	case otherFallback:
		return fmt.Sprintf("fallback: continued behind the lease of machine %d, and unique; or random, if a client without a provider made it", b.Leased)
	}
	return "leased"
}

func (b idBreakdown) Lines() []string {
	pairs := []any{"id", b.ID}
	if b.External != "" {
		pairs = append(pairs, "external", b.External)
	}
	return append(shell.Fields(append(pairs, "hex", b.Hex, "time", b.Time.Format("2006-01-02T15:04:05.000Z07:00"),
		"machine", b.Machine, "sequence", b.Sequence, "kind", b.explainKind())...), "")
}
