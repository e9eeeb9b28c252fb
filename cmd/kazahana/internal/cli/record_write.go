// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
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
		Long: `Write the records in a file, or in the input: JSON objects, one after the other. A record takes the
place of the stored one with its id; --create refuses records that exist, --existing those that do
not. A missing member is zero, null or the default of its field. A record without an id is a new one, and
gets an id if the library makes the ids of the type. All indexes are maintained; the hooks of the type do
not run. A transaction writes up to a thousand records and about 1 MB. If a record cannot be written, those
before it may be written already; the error says how many. A deleted record that stays, because a field
has the option deleted, exists: to restore it, write it without a value of that field.
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
			return database.WriteStore(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error { return f.put(ctx, c, s.WithDeleted(), in) })
		},
	}
	database.AddTypeFlag(cmd)
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
	return c.Write(recordCount{"written", n})
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

// recordCount is how many records a verb has changed.
type recordCount struct {
	verb string
	n    int
}

// MarshalJSON implements [json.Marshaler].
func (n recordCount) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{%q:%d}`, n.verb, n.n), nil
}

// Lines implements [shell.Result].
func (n recordCount) Lines() []string { return []string{countRecords(n.n) + " " + n.verb} }

// stopped says how many records a verb has changed before it stopped.
func stopped(n int, verb string, err error) error {
	more := ""
	if e := (*persistable.PartialError)(nil); errors.As(err, &e) {
		if err = e.Err; e.Uncertain > 0 {
			more = fmt.Sprintf(", and up to %d more may be, as the outcome of a commit is unknown", e.Uncertain)
		}
	}
	return fmt.Errorf("%s %s%s: %w", countRecords(n), verb, more, err)
}

// countRecords counts records in words.
func countRecords(n int) string { return database.Plural(n, "record", "records") }

// lineCounter counts the lines of what is read, up to any place.
type lineCounter struct {
	in     io.Reader
	starts []int64 // the offsets after each line that may still be asked for
	lines  int     // before the first of starts
	pos    int64
}

// Read implements [io.Reader].
func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for at, rest := 0, p[:n]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		at += i + 1
		l.starts, rest = append(l.starts, l.pos+int64(at)), rest[i+1:]
	}
	l.pos += int64(n)
	return n, err
}

// before returns how many lines end before an offset, which never goes back.
func (l *lineCounter) before(offset int64) int {
	for len(l.starts) > 0 && l.starts[0] <= offset {
		l.starts = l.starts[1:]
		l.lines++
	}
	return l.lines
}

// readRecords yields the records of JSON objects, one after the other. Errors name the
// line of the input.
func readRecords(s *dynamic.Store, in io.Reader) iter.Seq2[*dynamic.Record, error] {
	return func(yield func(*dynamic.Record, error) bool) {
		lines := &lineCounter{in: in}
		dec := json.NewDecoder(lines)
		for {
			var text json.RawMessage
			err := dec.Decode(&text)
			if errors.Is(err, io.EOF) {
				return
			}
			end := dec.InputOffset()
			before := lines.before(end - int64(len(text)))
			if errors.Is(err, shell.ErrNoInput) {
				yield(nil, shell.Invalid(err))
				return
			}
			if err != nil {
				yield(nil, shell.Invalid(fmt.Errorf("line %d: it is not JSON: %w", lines.before(end)+1, err)))
				return
			}
			r, err := s.ParseRecord(text)
			var fault *dynamic.ValueError
			if errors.As(err, &fault) {
				fault.Line += before
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func removeRecordsCommand(c *shell.Console) *cobra.Command {
	var w whereFlags
	var forGood bool
	cmd := &cobra.Command{
		Use: "rm PATH (ID... | --where CONDITION)", Short: "Remove records", Args: shell.Arguments(cobra.MinimumNArgs(1)),
		Long: `Remove the records with the given ids, or those that fulfil a condition, with their entries in all
indexes. The command shows how many there are and the first of them, and asks, or needs --yes. It removes
the records that it has counted, by their ids, in transactions of up to a thousand: others that fulfil the
condition by then stay, and those that have changed since are removed. It refuses another directory
that was put at the path by then. If it stops on the way, the error says how many are gone. Of a type with
a field for the time of the deletion, records stay, and have that time; --for-good removes them, and those that
are deleted already.
` + aboutWhere + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana record rm tenants/tenant-1/orders 72623859790382856 --db data\n  kazahana record rm events --where 'Tenant = \"tenant-9\"' --yes --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) > 1) == (w.where != "") {
				return shell.Misuse(cmd, errors.New("give ids, or a condition by --where"))
			}
			if err := w.check(cmd); err != nil {
				return err
			}
			return removeFound(cmd, c, args[0], forGood, func(ctx context.Context, s *dynamic.Store) ([]dynamic.ID, error) {
				if w.where != "" {
					return w.find(ctx, c, s)
				}
				return findIDs(ctx, s, args[1:])
			})
		},
	}
	database.AddTypeFlag(cmd)
	shell.AddYes(cmd)
	w.add(cmd)
	cmd.Flags().BoolVar(&forGood, "for-good", false, "remove records that would stay as deleted ones, and those that do")
	return cmd
}

// mostNamed is how many ids a question names.
const mostNamed = 10

// removeFound shows the records at a path that find finds, asks, and removes them.
func removeFound(cmd *cobra.Command, c *shell.Console, path string, forGood bool, find func(context.Context, *dynamic.Store) ([]dynamic.ID, error)) error {
	var (
		shown *dynamic.Store
		ids   []dynamic.ID
	)
	err := database.ReadStore(cmd, path, func(ctx context.Context, s *dynamic.Store) (err error) {
		if forGood {
			s = s.WithDeleted()
		}
		shown = s
		if ids, err = find(ctx, s); err != nil || len(ids) == 0 {
			return err
		}
		return confirmRecordRemoval(cmd, c, s, ids, forGood)
	})
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return c.Write(recordCount{"removed", 0})
	}
	return database.WriteShownStore(cmd, shown, func(ctx context.Context, s *dynamic.Store) error { return removeRecords(ctx, c, s, ids) })
}

// removeRecords removes the records with these ids.
func removeRecords(ctx context.Context, c *shell.Console, s *dynamic.Store, ids []dynamic.ID) error {
	progress := c.StartProgress("records", int64(len(ids)), shell.Things)
	n := 0
	err := persistable.DeleteMany(ctx, &s.Store, ids, persistable.BatchOptions{Progress: func(p persistable.BatchProgress) {
		n = p.Done
		progress.Set(int64(n))
	}})
	progress.Finish()
	if err != nil {
		return stopped(n, "removed", err)
	}
	return c.Write(recordCount{"removed", len(ids)})
}

// findIDs returns each of the ids once. There must be records with all of them.
func findIDs(ctx context.Context, s *dynamic.Store, texts []string) (ids []dynamic.ID, err error) {
	for _, text := range texts {
		id, err := s.ParseID(text)
		if err != nil {
			return nil, shell.Invalid(err)
		}
		if slices.Contains(ids, id) {
			continue
		}
		found, err := s.Exists(ctx, id)
		if err == nil && !found {
			err = fmt.Errorf("%w: %s %s", persistable.ErrNotFound, s.Schema().Type, id)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// confirmRecordRemoval shows what will be removed, and asks.
func confirmRecordRemoval(cmd *cobra.Command, c *shell.Console, s *dynamic.Store, ids []dynamic.ID, forGood bool) error {
	n := len(ids)
	lines := []string{fmt.Sprintf("%s of %s in %s, with all entries in indexes (%d):", countRecords(n), s.Schema().Type, database.QuotePath(s.Path()), len(s.Schema().Indexes))}
	for _, id := range ids[:min(n, mostNamed)] {
		lines = append(lines, "  "+id.String())
	}
	if more := n - len(lines) + 1; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	if keeps := func(f dynamic.Field) bool { return slices.Contains(f.Rules, "deleted") }; !forGood && slices.ContainsFunc(s.Schema().Fields, keeps) {
		lines = append(lines, "They stay, with the time of the deletion; --for-good removes them.")
	}
	return c.Confirm(cmd, lines, "Remove "+countRecords(n)+"?")
}
