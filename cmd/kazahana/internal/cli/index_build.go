// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

func buildIndexCommand(c *shell.Console) *cobra.Command {
	o := persistable.BuildOptions{Workers: 1, Share: 0.5}
	cmd := &cobra.Command{
		Use: "build PATH [INDEX]", Short: "Build the indexes that are not readable, or one anew", Args: shell.Arguments(cobra.RangeArgs(1, 2)),
		Long: `Build the indexes of a store that are not readable, while programs read and write. Any number of
processes may do it together; after an interruption, another call goes on.

With INDEX, remove the entries of that index first, and build it anew, with those that are not readable.
Until it is built, queries on it are refused, so the command asks.

Records that share the values of a unique index keep it from being completed: they are listed, and the
exit code is 5. Change or remove all but one of each, and build again; "index violations" lists the rest.
` + aboutIndexStores,
		Example:           "  kazahana index build tenants/tenant-1/orders --db data --workers 4 --share 1\n  kazahana index build events Event_Tenant_At --db data --yes",
		ValidArgsFunction: completeIndex,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(shell.AtLeast(cmd, "workers", o.Workers, 1), shell.AtLeast(cmd, "share", o.Share, 0.01), shell.AtLeast(cmd, "bytes-per-second", o.BytesPerSecond, 0)); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return shell.Misuse(cmd, err)
			}
			if len(args) == 1 {
				return over(cmd, args[0], true, func(ctx context.Context, _ *persistable.DB, t *indexTarget) error {
					return buildIndex(ctx, c, t, "", o)
				})
			}
			store, name, err := confirmRebuild(cmd, c, args)
			if err != nil {
				return err
			}
			return overShown(cmd, store, func(ctx context.Context, t *indexTarget) error { return buildIndex(ctx, c, t, name, o) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Workers, "workers", o.Workers, "`number` of goroutines that build")
	flags.Float64Var(&o.Share, "share", o.Share, "the `part` of its time, from 0.01 to 1, that each of them works")
	flags.IntVar(&o.BytesPerSecond, "bytes-per-second", 0, "`limit` of what they read and write; 0: none")
	shell.AddYes(cmd)
	return cmd
}

// confirmRebuild returns the store, and the name in keys of the index that the arguments name, which
// may be built anew.
func confirmRebuild(cmd *cobra.Command, c *shell.Console, args []string) (shown *indexTarget, keyName string, err error) {
	err = over(cmd, args[0], false, func(_ context.Context, _ *persistable.DB, t *indexTarget) error {
		shown = t
		ix, err := t.find(args[1])
		if err != nil {
			return err
		}
		if ix.Foreign != "" {
			return fmt.Errorf("the index %s of %s can be built only by a program with the Go code of the type: %s", ix.KeyName, t.where(), ix.Foreign)
		}
		keyName = ix.KeyName
		if ix.State != index.Readable {
			return nil
		}
		lines := []string{fmt.Sprintf("%s of %s is readable: queries on it are refused until it is built anew.", ix.KeyName, t.where())}
		return c.Confirm(cmd, lines, "Build it anew?")
	})
	return shown, keyName, err
}

// buildIndex builds all indexes or, if there is a name, the index with that name in keys anew.
func buildIndex(ctx context.Context, c *shell.Console, t *indexTarget, keyName string, o persistable.BuildOptions) error {
	do := t.Indexes().Build
	if keyName != "" {
		if _, err := t.find(keyName); err != nil {
			return err // it was dropped since it was shown; another one may have its name by itself
		}
		do = func(ctx context.Context, o persistable.BuildOptions) error {
			return t.Indexes().Rebuild(ctx, keyName, o)
		}
	}
	bar := newIndexBar(c, "building "+t.where())
	o.Progress = bar.show
	err := do(ctx, o)
	bar.finish()
	return errors.Join(writeBuilt(c, t, bar.last, err), explainViolations(c, t, err))
}

// writeBuilt says what was built, unless the build failed.
func writeBuilt(c *shell.Console, t *indexTarget, last persistable.BuildProgress, err error) error {
	if err != nil {
		return nil
	}
	return c.Write(buildResult{Path: database.FormatPath(t.path), Type: t.schema.Type, Records: last.Records, Bytes: last.Bytes})
}

// buildResult says that the indexes of a store are readable.
type buildResult struct {
	Path    string `json:"path"`
	Type    string `json:"type"`
	Records int64  `json:"records"` // that this build read
	Bytes   int64  `json:"bytes"`
}

// Lines implements [shell.Result].
func (b buildResult) Lines() []string {
	return []string{fmt.Sprintf("the indexes of %s in %s are built: %d records, %d bytes", b.Type, b.Path, b.Records, b.Bytes)}
}

// explainViolations lists violations that ended a build.
func explainViolations(c *shell.Console, t *indexTarget, err error) error {
	taken, ok := errors.AsType[*persistable.NotUniqueError](err)
	if !ok {
		return err
	}
	var names []string
	for _, v := range taken.Violations {
		if err := c.Write(newViolation(t.schema, v)); err != nil {
			return err
		}
		if !slices.Contains(names, v.Index) {
			names = append(names, v.Index)
		}
	}
	more := ""
	if taken.More {
		more = fmt.Sprintf("; these are the first ones, and all are listed by kazahana index violations %s %s", t.arguments(), names[len(names)-1])
	}
	return &shell.ExitError{Code: exitFaults, Err: fmt.Errorf("records of %s share values of the unique index %s%s", t.where(), strings.Join(names, ", "), more)}
}

// indexBar shows the progress of a build, in bytes of records: the size of all is known when it
// begins.
type indexBar struct {
	console  *shell.Console
	name     string
	progress *shell.Progress
	started  bool
	last     persistable.BuildProgress
}

func newIndexBar(c *shell.Console, name string) *indexBar { return &indexBar{console: c, name: name} }

// show is a Progress of [persistable.BuildOptions].
func (b *indexBar) show(p persistable.BuildProgress) {
	if !b.started {
		b.progress, b.started = b.console.StartProgress(b.name, p.EstimatedBytes, shell.Bytes), true
	}
	b.last = p
	b.progress.Set(p.EstimatedDone)
}

func (b *indexBar) finish() { b.progress.Finish() }

const aboutVerifyIndex = `
It runs while programs read and write, and takes as many transactions as it needs. If it ends
early, it writes a token to the standard error output, with --json as {"next": "…"}; --token goes on there.
With --workers the work is divided, and its state is in the database: the same command takes part in it in
other processes, and goes on with it after any of them was killed. The exit code is 5 if faults are left.
`

// addVerifyWorkers adds the flags of a shared verification.
func addVerifyWorkers(cmd *cobra.Command, o *persistable.VerifyOptions) {
	cmd.Flags().IntVar(&o.Workers, "workers", 0, "`number` of goroutines that verify, which share the work with those of other processes")
}

func verifyIndexCommand(c *shell.Console) *cobra.Command {
	var o persistable.VerifyOptions
	var recount bool
	cmd := &cobra.Command{
		Use: "verify PATH", Short: "Compare all records with their entries in the indexes", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Compare every record of a store with its entries in all readable indexes, and every entry with its record.
It writes nothing, unless --recount or --workers is given: counts and sums of many records can be compared only
with a count that is made in the database while programs write. Without it they are compared at
one version, which can be read for five seconds; if that does not suffice, they are skipped, and the
report names them.
` + aboutVerifyIndex + aboutIndexStores,
		Example:           "  kazahana index verify tenants/tenant-1/orders --db data",
		ValidArgsFunction: completeIndex,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkVerify(cmd, o); err != nil {
				return err
			}
			if !recount {
				o.RecountBytes, o.NoRecount = math.MaxInt64, true
			}
			return over(cmd, args[0], recount || o.Workers > 0, func(ctx context.Context, _ *persistable.DB, t *indexTarget) error { return verifyIndex(ctx, c, t, o) })
		},
	}
	shell.AddToken(cmd, &o.Token)
	addVerifyWorkers(cmd, &o)
	cmd.Flags().BoolVar(&recount, "recount", false, "count large counts and sums anew, in the database")
	return cmd
}

func repairCommand(c *shell.Console) *cobra.Command {
	o := persistable.VerifyOptions{Repair: true}
	cmd := &cobra.Command{
		Use: "repair PATH", Short: "Mend the entries of indexes that do not agree with their records", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Compare every record of a store with its entries as "index verify" does, and mend the entries at fault, and
the counts and sums. Records are never changed. What is left needs a decision: records that cannot be
decoded, records that share a unique value; the counts of ranks, which "index build PATH INDEX" mends.
` + aboutVerifyIndex + aboutIndexStores,
		Example:           "  kazahana index repair tenants/tenant-1/orders --db data",
		ValidArgsFunction: completeIndex,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkVerify(cmd, o); err != nil {
				return err
			}
			return over(cmd, args[0], true, func(ctx context.Context, _ *persistable.DB, t *indexTarget) error { return verifyIndex(ctx, c, t, o) })
		},
	}
	shell.AddToken(cmd, &o.Token)
	addVerifyWorkers(cmd, &o)
	return cmd
}

// checkVerify refuses flags that have no meaning, or none together.
func checkVerify(cmd *cobra.Command, o persistable.VerifyOptions) error {
	if err := o.Validate(); err != nil {
		return shell.Misuse(cmd, err)
	}
	return nil
}

// verifyIndex verifies or repairs, and shows the report, also that of a call that ends early.
func verifyIndex(ctx context.Context, c *shell.Console, t *indexTarget, o persistable.VerifyOptions) error {
	bar := c.StartProgress("records of "+t.where(), 0, shell.Things)
	o.Progress = func(r persistable.Report) { bar.Set(int64(r.Records)) }
	found, err := t.Indexes().Verify(ctx, o)
	bar.Finish()
	if errors.Is(err, persistable.ErrBadToken) {
		return shell.Invalid(err)
	}
	r := newIndexReport(t, found)
	if err != nil && found.Next == "" && found.Records == 0 {
		return err
	}
	if written := c.Write(r); written != nil {
		return errors.Join(err, written)
	}
	if err != nil {
		return endEarly(c, found.Next, err)
	}
	if r.Left == 0 && !r.More {
		return nil
	}
	remedy := "entries are mended by kazahana index repair " + t.arguments()
	if o.Repair {
		remedy = "see what each of them needs"
	}
	return &shell.ExitError{Code: exitFaults, Err: fmt.Errorf("%s: %d faults are left: %s", t.where(), r.Left, remedy)}
}

// endEarly says with which token a verb that has failed goes on.
func endEarly(c *shell.Console, token string, err error) error {
	err = fmt.Errorf("ended early: %w", err)
	if token == "" {
		return err
	}
	return errors.Join(err, c.WriteNext(token))
}

// indexReport is what verify found and repair did.
type indexReport struct {
	Path     string       `json:"path"`
	Type     string       `json:"type"`
	Records  int          `json:"records"`
	Entries  int          `json:"entries"`
	Skipped  []string     `json:"skipped"` // indexes that are not readable
	Faults   []indexFault `json:"faults"`  // those that were repaired, too
	More     bool         `json:"more"`    // there are more faults
	Repaired int          `json:"repaired"`
	Left     int          `json:"left"` // faults that were not repaired
}

// indexFault is a record or an entry at fault.
type indexFault struct {
	Index  string `json:"index,omitempty"` // none if the record itself is at fault
	Key    string `json:"key"`
	ID     string `json:"id,omitempty"` // a tuple
	Reason string `json:"reason"`
}

func newIndexReport(t *indexTarget, r persistable.Report) indexReport {
	shown := indexReport{
		Path: database.FormatPath(t.path), Type: t.schema.Type, Records: r.Records, Entries: r.Entries, Skipped: append([]string{}, r.Skipped...),
		Faults: []indexFault{}, More: r.More, Repaired: r.Repaired, Left: len(r.Faults) - r.Repaired,
	}
	for _, f := range r.Faults {
		shown.Faults = append(shown.Faults, indexFault{f.Index, database.FormatKey(f.Key), f.ID, f.Reason})
	}
	return shown
}

// Lines implements [shell.Result].
func (r indexReport) Lines() []string {
	pairs := []any{"store", r.Type + " in " + r.Path, "read", fmt.Sprintf("%d records, %d entries", r.Records, r.Entries)}
	if len(r.Skipped) > 0 {
		pairs = append(pairs, "skipped", strings.Join(r.Skipped, ", ")+": not readable, or not countable now")
	}
	for _, f := range r.Faults {
		pairs = append(pairs, "fault", f.text())
	}
	if r.More {
		pairs = append(pairs, "", "and more")
	}
	return shell.Fields(append(pairs, "repaired", r.Repaired, "left", r.Left)...)
}

func (f indexFault) text() string {
	text := f.Reason
	if f.ID != "" {
		text = "record " + f.ID + ": " + text
	}
	if f.Index != "" {
		text = f.Index + ": " + text
	}
	return text + " (" + f.Key + ")"
}

func violationsCommand(c *shell.Console) *cobra.Command {
	var token string
	cmd := &cobra.Command{
		Use: "violations PATH INDEX", Short: "List the records that keep a unique index from being completed", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `List the records that share the values of a unique index, a page of at least fifty at a time. The token
of the next page is written to the standard error output, with --json as {"next": "…"}; --token goes on
there. The command checks each of the records, and removes those from the list that share no values any
more, so it writes. The exit code is 5 if there are any.
` + aboutIndexStores,
		Example:           "  kazahana index violations counters Counter_Name_unique --db data",
		ValidArgsFunction: completeIndex,
		RunE: func(cmd *cobra.Command, args []string) error {
			return over(cmd, args[0], true, func(ctx context.Context, _ *persistable.DB, t *indexTarget) error {
				return listViolations(ctx, c, t, args[1], token)
			})
		},
	}
	shell.AddToken(cmd, &token)
	return cmd
}

func listViolations(ctx context.Context, c *shell.Console, t *indexTarget, name, token string) error {
	ix, err := t.find(name)
	if err != nil {
		return err
	}
	if !ix.Unique {
		return shell.Invalid(fmt.Errorf("the index %s of %s is not unique", ix.KeyName, t.where()))
	}
	page, err := t.Indexes().Violations(ctx, ix.KeyName, token)
	if err != nil {
		return database.ExplainStore(err)
	}
	for _, v := range page.Violations {
		if err := c.Write(newViolation(t.schema, v)); err != nil {
			return err
		}
	}
	if page.Next != "" {
		if err := c.WriteNext(page.Next); err != nil {
			return err
		}
	}
	if len(page.Violations) == 0 {
		return nil
	}
	return &shell.ExitError{Code: exitFaults, Err: fmt.Errorf("%d records of %s keep %s from being completed: change or remove them, and build again", len(page.Violations), t.where(), ix.KeyName)}
}

// violation is a record with values that another one owns.
type violation struct {
	KeyName string   `json:"keyName"` // of the index
	Fields  []string `json:"fields"`
	Values  string   `json:"values"` // a tuple
	ID      string   `json:"id"`
	Owner   string   `json:"owner"` // the id of the record that is in the index

	named []string // Name = "visits"
}

func newViolation(s *dynamic.Schema, v persistable.Violation) violation {
	shown := violation{v.Index, v.Fields, v.Values.String(), fmt.Sprint(v.ID), fmt.Sprint(v.Owner), nil}
	for i, value := range v.Values {
		if i < len(v.Fields) {
			shown.named = append(shown.named, v.Fields[i]+" = "+valueText(kindOfField(s, v.Fields[i]), value))
		}
	}
	return shown
}

// kindOfField returns the kind of a field or of its elements; "" for one of a nested struct.
func kindOfField(s *dynamic.Schema, name string) string {
	i := slices.IndexFunc(s.Fields, func(f dynamic.Field) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return strings.TrimLeft(s.Fields[i].Kind, "*[]")
}

// valueText returns a value of an index as records show it, where the index has another form of
// it, and otherwise as tuples are shown.
func valueText(kind string, value any) string {
	n, isInteger := value.(int64)
	switch {
	case kind == "time" && isInteger:
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	case kind == "duration" && isInteger:
		return time.Duration(n).String()
	}
	text := tuple.Tuple{value}.String()
	return strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
}

// Lines implements [shell.Result].
func (v violation) Lines() []string {
	return []string{fmt.Sprintf("%s: the records %s and %s have %s; %[2]s is in the index", v.KeyName, v.Owner, v.ID, strings.Join(v.named, ", "))}
}
