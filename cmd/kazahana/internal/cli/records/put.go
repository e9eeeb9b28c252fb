// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// putFlags are the flags of record put.
type putFlags struct{ create, existing bool }

func putCommand(c *shell.Console) *cobra.Command {
	var f putFlags
	cmd := &cobra.Command{
		Use: "put PATH [FILE]", Short: "Write records from JSON", Args: shell.Arguments(cobra.RangeArgs(1, 2)),
		Long: `Write the records in a file, or in the input: JSON objects, one behind the other. A record takes the
place of the stored one with its id; --create refuses records that exist, --existing those that do
not. A missing member is zero, null or the default of its field. A record without an id is a new one, and
gets an id if the library makes the ids of the type. All indexes are maintained; the hooks of the type do
not run. A transaction writes up to a thousand records and about 1 MB. If a record cannot be written, those
before it may be written already; the error says how many.
` + aboutJSON + database.AboutPaths + "\n" + database.About,
		Example: "  kazahana record put tenants/tenant-1/orders orders.json --create --db data\n" +
			"  kazahana record get settings theme --json --db data > theme.json\n" +
			"  kazahana record put settings theme.json --existing --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.create && f.existing {
				return shell.Misuse(cmd, errors.New("--create and --existing exclude each other"))
			}
			in, err := openInput(c, append(args, "-")[1])
			if err != nil {
				return err
			}
			defer in.Close()
			return storearg.Write(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error { return f.put(ctx, c, s, in) })
		},
	}
	storearg.AddType(cmd)
	cmd.Flags().BoolVar(&f.create, "create", false, "refuse records that exist")
	cmd.Flags().BoolVar(&f.existing, "existing", false, "refuse records that do not exist")
	return cmd
}

// openInput opens a file, or the input for "-".
func openInput(c *shell.Console, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.In), nil
	}
	return os.Open(name)
}

// put writes the records of the input.
func (f *putFlags) put(ctx context.Context, c *shell.Console, s *dynamic.Store, in io.Reader) error {
	progress := c.StartProgress("records", 0, shell.Things)
	o := persistable.BatchOptions{Progress: func(p persistable.BatchProgress) { progress.Set(int64(p.Done)) }}
	records := readRecords(s, in)
	var n int
	var err error
	switch {
	case f.create:
		n, err = persistable.CreateFrom(ctx, &s.Store, records, o)
	case f.existing:
		n, err = persistable.SaveExistingFrom(ctx, &s.Store, withIDs(records), o)
	default:
		n, err = saveAll(ctx, s, records, progress.Set)
	}
	progress.Finish()
	if err != nil {
		return stopped(n, "written", err)
	}
	return c.Write(count{"written", n})
}

// withIDs yields the records up to one that has no id, which is an error.
func withIDs(records iter.Seq2[*dynamic.Record, error]) iter.Seq2[*dynamic.Record, error] {
	return func(yield func(*dynamic.Record, error) bool) {
		n := 0
		for r, err := range records {
			if n++; err == nil && r.ID().IsZero() {
				err = shell.Invalid(fmt.Errorf("the record %d has no id, which --existing needs", n))
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// saveAll saves records: one that has no id gets one, and must be new. It tells progress
// how many it has saved.
func saveAll(ctx context.Context, s *dynamic.Store, records iter.Seq2[*dynamic.Record, error], progress func(int64)) (n int, err error) {
	next, stop := iter.Pull2(records)
	defer stop()
	r, err, found := next()
	for found && err == nil {
		save, isNew := persistable.SaveFrom[*dynamic.Record, dynamic.ID], r.ID().IsZero()
		if isNew {
			save = persistable.CreateFrom[*dynamic.Record, dynamic.ID]
		}
		alike := func(yield func(*dynamic.Record, error) bool) {
			for found && err == nil && r.ID().IsZero() == isNew && yield(r, nil) {
				r, err, found = next()
			}
		}
		before := n
		o := persistable.BatchOptions{Progress: func(p persistable.BatchProgress) { progress(int64(before + p.Done)) }}
		saved, fault := save(ctx, &s.Store, alike, o)
		if n += saved; fault != nil {
			return n, fault
		}
	}
	return n, err
}

// count is how many records a verb has changed.
type count struct {
	verb string
	n    int
}

// MarshalJSON implements [json.Marshaler].
func (n count) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `{%q:%d}`, n.verb, n.n), nil }

// Lines implements [shell.Result].
func (n count) Lines() []string { return []string{plural(n.n) + " " + n.verb} }

// stopped says how many records a verb has changed before it stopped.
func stopped(n int, verb string, err error) error {
	more := ""
	if e := (*persistable.PartialError)(nil); errors.As(err, &e) {
		if err = e.Err; e.Uncertain > 0 {
			more = fmt.Sprintf(", and up to %d more may be, as the outcome of a commit is unknown", e.Uncertain)
		}
	}
	return fmt.Errorf("%s %s%s: %w", plural(n), verb, more, err)
}

// plural counts records in words.
func plural(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}
