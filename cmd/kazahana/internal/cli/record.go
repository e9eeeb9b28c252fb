// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// recordCommand returns the group kazahana record.
func recordCommand(c *shell.Console) *cobra.Command {
	return shell.Group("record", "Show, write and remove records of any type",
		getRecordCommand(c), listRecordsCommand(c), findRecordsCommand(c), putCommand(c), removeRecordsCommand(c))
}

// aboutJSON says in the help of a verb what records are in JSON.
const aboutJSON = `
A record is a JSON object with a member for each field. Ids of kazahana, times, durations and UUIDs
are texts, other bytes are base64, null is an absent value.`

// row is a record as the result of a verb.
type row struct {
	*dynamic.Record
	deleted bool // as --with-deleted shows it
}

// Lines implements [shell.Result].
func (s row) Lines() []string {
	if s.deleted {
		return append([]string{"deleted:"}, s.lines()...)
	}
	return s.lines()
}

func (s row) lines() []string {
	text, err := s.MarshalJSON()
	if err != nil {
		return []string{err.Error()}
	}
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil { // it is JSON
		return []string{string(text)}
	}
	return strings.Split(out.String(), "\n")
}

func getRecordCommand(c *shell.Console) *cobra.Command {
	var entries bool
	cmd := &cobra.Command{
		Use: "get PATH ID...", Short: "Show records by their ids", Args: shell.Arguments(cobra.MinimumNArgs(2)),
		Long: `Show the records of a directory with the given ids. With --entries show instead all keys that each
has: its own, and its entries in the indexes, as tuples within the directory. A key that is missing
is marked so. A record that does not exist gives the exit code 4; one that is deleted and stays, because
a field has the option deleted, is shown as such.
` + aboutJSON + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana record get tenants/tenant-1/orders 72623859790382856 --db data\n  kazahana record get events 019ca8a0-3ee7-0000-0000-000000000067 --entries --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return database.ReadStore(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error {
				for _, text := range args[1:] {
					if err := showRecord(ctx, c, s, text, entries); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	database.AddTypeFlag(cmd)
	cmd.Flags().BoolVar(&entries, "entries", false, "show the keys of the records")
	return cmd
}

// showRecord writes the record with an id, or its keys.
func showRecord(ctx context.Context, c *shell.Console, s *dynamic.Store, text string, entries bool) error {
	id, err := s.ParseID(text)
	if err != nil {
		return shell.Invalid(err)
	}
	if !entries {
		all := s.WithDeleted()
		r, err := all.Get(ctx, id)
		if err != nil {
			return err
		}
		return c.Write(row{r, all.IsDeleted(r)})
	}
	all, err := s.Entries(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := c.Write(newRecordEntry(e)); err != nil {
			return err
		}
	}
	return nil
}

// recordEntry is a key of a record.
type recordEntry struct {
	Index   string `json:"index,omitempty"` // "" for the record's own
	Tuple   string `json:"tuple"`
	Key     string `json:"keyHex"`
	Value   string `json:"valueHex"`
	Missing bool   `json:"missing,omitempty"`
}

func newRecordEntry(e dynamic.Entry) recordEntry {
	one := recordEntry{Index: e.Index, Key: hex.EncodeToString(e.Key), Value: hex.EncodeToString(e.Value), Missing: e.Value == nil}
	if e.Tuple != nil {
		one.Tuple = e.Tuple.String()
	}
	return one
}

// Lines implements [shell.Result].
func (e recordEntry) Lines() []string {
	what := fmt.Sprintf("%d bytes", len(e.Value)/2)
	if e.Missing {
		what = "MISSING"
	}
	return []string{e.Tuple + "  " + what}
}

type recordQuery = persistable.Query[*dynamic.Record]

func listRecordsCommand(c *shell.Console) *cobra.Command {
	var f pageFlags
	var index string
	var values []string
	cmd := &cobra.Command{
		Use: "list PATH", Short: "Show the records of a directory, page by page", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the records of a directory in the order of their ids or, with --index, in that of an index:
those that have the given values in its first fields. If there are more than --limit, the token of
the next page is written to the standard error output, with --json as {"next": "…"}; --token goes on
there.
` + aboutJSON + database.AboutPaths + "\n" + database.About,
		Example: "  kazahana record list tenants/tenant-1/orders --limit 10 --json --db data\n" +
			"  kazahana record list tenants/tenant-1/orders --index Order_Status_CreatedAt --value 1 --reverse --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if index == "" && len(values) > 0 {
				return shell.Misuse(cmd, errors.New("--value needs --index"))
			}
			return f.run(cmd, c, args[0], func(s *dynamic.Store) (*recordQuery, error) {
				if index == "" {
					return s.Scan(), nil
				}
				q, err := s.ByIndex(index, values...)
				if err != nil {
					return nil, shell.Invalid(err)
				}
				return q, nil
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&index, "index", "", "in the order of the index with this `name`")
	_ = cmd.RegisterFlagCompletionFunc("index", completeOrder) // the flag is there
	cmd.Flags().StringArrayVar(&values, "value", nil, "only with this `value` in the next field of the index; may be repeated")
	return cmd
}

func findRecordsCommand(c *shell.Console) *cobra.Command {
	var f pageFlags
	var w whereFlags
	cmd := &cobra.Command{
		Use: "find PATH --where CONDITION", Short: "Show the records that fulfil a condition", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the records of a directory that fulfil a condition. Indexes serve it where they can; where none
does, all records are read. If there are more than --limit, the token of the next page is written to
the standard error output, with --json as {"next": "…"}; --token goes on there.
` + aboutWhere + aboutJSON + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana record find tenants/tenant-1/orders --where 'Status = 1 and CreatedAt >= 2026-01-01T00:00:00Z' --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			}
			return f.run(cmd, c, args[0], w.query)
		},
	}
	f.add(cmd)
	w.add(cmd)
	_ = cmd.MarkFlagRequired("where") // the flag is there
	return cmd
}

// pageFlags are the flags of verbs that show pages of records.
type pageFlags struct {
	limit   int
	token   string
	reverse bool

	withDeleted bool
}

func (f *pageFlags) add(cmd *cobra.Command) {
	database.AddTypeFlag(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 100, "`number` of records to show at most; 0: all")
	shell.AddToken(cmd, &f.token)
	cmd.Flags().BoolVar(&f.reverse, "reverse", false, "in the other direction")
	cmd.Flags().BoolVar(&f.withDeleted, "with-deleted", false, "show deleted records, too, of a type with a field for the time of the deletion")
}

// run shows the records of a query of the store at a path.
func (f *pageFlags) run(cmd *cobra.Command, c *shell.Console, path string, newQuery func(*dynamic.Store) (*recordQuery, error)) error {
	if f.limit < 0 || f.limit == 0 && f.token != "" {
		return shell.Misuse(cmd, errors.New("--limit: it must not be negative, nor 0 together with --token"))
	}
	return database.ReadStore(cmd, path, func(ctx context.Context, s *dynamic.Store) error {
		if f.withDeleted {
			s = s.WithDeleted()
		}
		q, err := newQuery(s)
		if err != nil {
			return err
		}
		if f.reverse {
			q = q.Reverse()
		}
		if f.limit == 0 {
			return explainLimit(writeAll(ctx, c, s, q))
		}
		return explainLimit(f.writePage(ctx, c, s, q.Limit(f.limit)))
	})
}

func writeAll(ctx context.Context, c *shell.Console, s *dynamic.Store, q *recordQuery) error {
	for r, err := range q.All(ctx) {
		if err != nil {
			return err
		}
		if err := c.Write(row{r, s.IsDeleted(r)}); err != nil {
			return err
		}
	}
	return nil
}

// writePage shows a page, and the token of the next one.
func (f *pageFlags) writePage(ctx context.Context, c *shell.Console, s *dynamic.Store, q *recordQuery) error {
	page, err := q.Page(ctx, f.token)
	if err != nil {
		return err
	}
	for _, r := range page.Records {
		if err := c.Write(row{r, s.IsDeleted(r)}); err != nil {
			return err
		}
	}
	if page.Next == "" {
		return nil
	}
	return c.WriteNext(page.Next)
}

// aboutWhere says in the help of a verb what conditions are.
const aboutWhere = `
A condition is a comparison of a field with a value (= != < <= > >=), with several (in), or with a
beginning (prefix), or several joined by and, or and parentheses. Texts stand in quotes. Address.City
is a field of a nested struct; of a list an element must fulfil the comparison; null is compared by
= and != only.
`

// whereFlags are the flags of verbs with a condition.
type whereFlags struct {
	where       string
	filterLimit int
}

func (w *whereFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.where, "where", "", "the `condition` that records fulfil")
	cmd.Flags().IntVar(&w.filterLimit, "filter-limit", persistable.DefaultFilterLimit, "`number` of records to look at, at most, to leave some out; 0: any")
}

func (w *whereFlags) check(cmd *cobra.Command) error {
	return shell.AtLeast(cmd, "filter-limit", w.filterLimit, 0)
}

// query returns the query of the records that fulfil the condition.
func (w *whereFlags) query(s *dynamic.Store) (*recordQuery, error) {
	condition, err := s.Where(w.where)
	if err != nil {
		return nil, err
	}
	q, err := s.AllowScan().Find(condition)
	if err != nil {
		return nil, err
	}
	if w.filterLimit == 0 {
		return q.FilterLimit(persistable.NoLimit), nil
	}
	return q.FilterLimit(w.filterLimit), nil
}

// explainLimit says how to read more.
func explainLimit(err error) error {
	if errors.Is(err, persistable.ErrFilterLimit) {
		return fmt.Errorf("%w\n--filter-limit lets the command read more", err)
	}
	return err
}

// find returns the ids of the records that fulfil the condition.
func (w *whereFlags) find(ctx context.Context, c *shell.Console, s *dynamic.Store) (ids []dynamic.ID, err error) {
	q, err := w.query(s)
	if err != nil {
		return nil, err
	}
	progress := c.StartProgress("records found", 0, shell.Things)
	defer progress.Finish()
	for r, err := range q.All(ctx) {
		if err != nil {
			return nil, explainLimit(err)
		}
		ids = append(ids, r.ID())
		progress.Set(int64(len(ids)))
	}
	return ids, nil
}
