// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// schemaCommand returns the group kazahana schema.
func schemaCommand(c *shell.Console) *cobra.Command {
	return shell.Group("schema", "Show, compare and trace the schemas of stores", showSchemaCommand(c), historyCommand(c), diffCommand(c))
}

func showSchemaCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show PATH", Short: "Show the schema of a store", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the schema in the header of a store as text: the sum of all programs that wrote there, in the
form of persist.lock. The command type show is for people.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana schema show tenants/tenant-1/orders --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeVersions(cmd, c, args[0], 1)
		},
	}
	database.AddTypeFlag(cmd)
	return cmd
}

func historyCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "history PATH", Short: "Show all versions of the schema of a store", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show what the header of a store has said of schema and indexes, the first version first. The time is
until when a version held, by the clock of the process that replaced it.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana schema history tenants/tenant-1/accounts --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeVersions(cmd, c, args[0], math.MaxInt)
		},
	}
	database.AddTypeFlag(cmd)
	return cmd
}

// writeVersions writes the newest versions of the schema of a store, at most so many.
func writeVersions(cmd *cobra.Command, c *shell.Console, path string, most int) error {
	return database.ReadStore(cmd, path, func(ctx context.Context, s *dynamic.Store) error {
		all, err := s.Indexes().History(ctx)
		if err != nil {
			return err
		}
		for i := max(len(all)-most, 0); i < len(all); i++ {
			if err := c.Write(newSchemaVersion(i+1, all[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// schemaVersion is a version of a schema.
type schemaVersion struct {
	Number  int           `json:"version"`
	Until   string        `json:"until,omitempty"` // "" for the present one
	Schema  string        `json:"schema"`
	Indexes []schemaIndex `json:"indexes"`
}

type schemaIndex struct {
	Name   string `json:"name"`
	Layout string `json:"layout"`
	State  string `json:"state"`
}

func newSchemaVersion(number int, from persistable.SchemaVersion) schemaVersion {
	v := schemaVersion{Number: number, Schema: from.Schema, Indexes: []schemaIndex{}}
	if !from.Until.IsZero() {
		v.Until = shell.Stamp(from.Until)
	}
	for _, ix := range from.Indexes {
		v.Indexes = append(v.Indexes, schemaIndex{ix.KeyName, ix.Layout, ix.State.String()})
	}
	return v
}

// Lines implements [shell.Result].
func (v schemaVersion) Lines() []string {
	until := "the present one"
	if v.Until != "" {
		until = "until " + v.Until
	}
	lines := []string{fmt.Sprintf("# version %d, %s", v.Number, until)}
	for line := range strings.Lines(v.Schema) {
		lines = append(lines, strings.Replace(strings.TrimRight(line, "\n"), "\t", "  ", 1))
	}
	for _, ix := range v.Indexes {
		lines = append(lines, fmt.Sprintf("# index %s %s, %s", ix.Name, ix.Layout, ix.State))
	}
	return lines
}

// diffFlags are the flags of schema diff.
type diffFlags struct {
	lock     string
	from, to int
}

// errDisagree makes the exit code tell of the differences that were written.
var errDisagree = errors.New("a program of the one must not use data of the other: the lines that begin with ! say why")

func diffCommand(c *shell.Console) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use: "diff PATH [OTHER]", Short: "Compare the schema of a store", Args: shell.Arguments(cobra.RangeArgs(1, 2)),
		Long: `Compare the schema of a store with that of another store, with a persist.lock (--lock), or two versions
of its history (--from, --to; without --to the present one). Lines begin with - for what only the
first has, + for what only the second has, ~ for changes that are allowed, with their consequences,
and ! for differences because of which programs refuse to use the store; then the exit code is 1.
` + database.AboutPaths + "\n" + database.About,
		Example: "  kazahana schema diff tenants/tenant-1/orders tenants/tenant-2/orders --db data\n" +
			"  kazahana schema diff tenants/tenant-1/orders --lock persist.lock --db data\n  kazahana schema diff tenants/tenant-1/accounts --from 1 --db data",
		ValidArgsFunction: database.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error { return f.run(ctx, cmd, c, db, args) })
		},
	}
	database.AddTypeFlag(cmd)
	cmd.Flags().StringVar(&f.lock, "lock", "", "compare with the type in this `file`, a persist.lock")
	cmd.Flags().IntVar(&f.from, "from", 0, "compare from this `version` of the history")
	cmd.Flags().IntVar(&f.to, "to", 0, "compare to this `version` of the history")
	return cmd
}

// check returns an error unless exactly one thing is named to compare with.
func (f *diffFlags) check(cmd *cobra.Command, args []string) error {
	for flag, version := range map[string]int{"from": f.from, "to": f.to} {
		if cmd.Flags().Changed(flag) {
			if err := shell.AtLeast(cmd, flag, version, 1); err != nil {
				return err
			}
		}
	}
	n := 0
	for _, given := range []bool{len(args) == 2, f.lock != "", f.from > 0} {
		if given {
			n++
		}
	}
	if n != 1 || f.to > 0 && f.from == 0 {
		return shell.Misuse(cmd, errors.New("name one thing to compare with: another path, --lock, or --from and perhaps --to"))
	}
	return nil
}

func (f *diffFlags) run(ctx context.Context, cmd *cobra.Command, c *shell.Console, db *persistable.DB, args []string) error {
	s, err := database.OpenStore(ctx, cmd, db, args[0])
	if err != nil {
		return err
	}
	history, err := s.Indexes().History(ctx)
	if err != nil {
		return err
	}
	d := &schemaDifference{there: "the first", here: "the second"}
	switch {
	case f.lock != "":
		err = d.readLock(f.lock, s, history[len(history)-1])
	case f.from > 0:
		err = d.takeVersions(history, f.from, f.to)
	default:
		err = d.takeStores(ctx, cmd, db, history[len(history)-1], args[1])
	}
	if err != nil {
		return err
	}
	return d.write(c)
}

// schemaDifference is what differs between two schemas of a type.
type schemaDifference struct {
	there, here            string // words for the two
	was, now               *schema.Schema
	wasIndexes, nowIndexes map[string]string // signatures by name in keys
	succession             bool              // now was made from was
}

// take sets what is compared.
func (d *schemaDifference) take(was, now persistable.SchemaVersion) {
	d.was, d.now = parsed(was), parsed(now)
	d.wasIndexes, d.nowIndexes = signatures(was), signatures(now)
}

// parsed returns the schema of a version of a header, which was parsed when it was read.
func parsed(v persistable.SchemaVersion) *schema.Schema {
	s, _ := schema.ParseType(v.Schema)
	return s
}

// signatures returns the indexes of a header in the form of persist.lock.
func signatures(v persistable.SchemaVersion) map[string]string {
	all := map[string]string{}
	for _, ix := range v.Indexes {
		layout, where, partial := strings.Cut(ix.Layout, ":where=")
		text := strings.Join(strings.Fields(strings.ReplaceAll(layout, ":", " ")), " ")
		if partial {
			text = strings.TrimSpace(text + " where=" + where)
		}
		all[ix.KeyName] = text
	}
	return all
}

// schemaLine is one difference.
type schemaLine struct {
	Sign         string   `json:"sign"` // - + ~ !
	Text         string   `json:"text"`
	Consequences []string `json:"consequences,omitempty"`
}

// Lines implements [shell.Result].
func (l schemaLine) Lines() []string {
	lines := []string{l.Sign + " " + l.Text}
	for _, c := range l.Consequences {
		lines = append(lines, "    "+c)
	}
	return lines
}

// write shows all differences. It returns [errDisagree] if programs of the two must not
// share data.
func (d *schemaDifference) write(c *shell.Console) (result error) {
	all := slices.Concat(d.changes(), d.fields(), d.indexes())
	for _, l := range all {
		if l.Sign == "!" {
			result = errDisagree
		}
		if err := c.Write(l); err != nil {
			return err
		}
	}
	return result
}

// changes returns what internal/schema says of fields that both have, and of the types.
func (d *schemaDifference) changes() (all []schemaLine) {
	differences := schema.Coexistence(d.was, d.now)
	if d.succession {
		differences = schema.Succession(d.was, d.now, d.was.Type().Name)
	}
	for i := range differences {
		one := &differences[i]
		l := schemaLine{Sign: "!", Text: one.Text(d.there, d.here), Consequences: one.Consequences}
		if one.Allowed || d.isKept(one) {
			l.Sign = "~"
		}
		all = append(all, l)
	}
	if d.was.Type().Scatter != d.now.Type().Scatter {
		all = append(all, schemaLine{Sign: "~", Text: "the records are scattered differently: the first record of a directory decides"})
	}
	return all
}

// isKept reports whether a kind differs because the later schema says that the field had
// the kind of the earlier one.
func (d *schemaDifference) isKept(one *schema.Difference) bool {
	return one.Aspect == schema.FieldKind && one.HereField != nil && slices.Contains(one.HereField.Was, one.There)
}

// fields returns the fields that one of the two has, in all messages of both.
func (d *schemaDifference) fields() (all []schemaLine) {
	names := map[string]bool{}
	for _, s := range []*schema.Schema{d.was, d.now} {
		for _, b := range s.Blocks {
			names[b.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, now := d.was.Block(name), d.now.Block(name)
		all = append(all, missingSchema("-", name, was, now)...)
		all = append(all, missingSchema("+", name, now, was)...)
	}
	return all
}

// missingSchema returns the fields of a message that its other form lacks.
func missingSchema(sign, name string, of, other *schema.Block) (all []schemaLine) {
	if of == nil {
		return nil
	}
	for _, f := range of.Fields {
		if other == nil || other.ByNumber(f.Number) == nil {
			all = append(all, schemaLine{Sign: sign, Text: name + ": " + f.Text()})
		}
	}
	return all
}

// indexes returns the indexes that differ.
func (d *schemaDifference) indexes() (all []schemaLine) {
	names := slices.Collect(maps.Keys(d.wasIndexes))
	for name := range d.nowIndexes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, isThere := d.wasIndexes[name]
		now, isHere := d.nowIndexes[name]
		switch {
		case !isThere:
			all = append(all, d.indexLine("+", name+" "+now, "it is built before it is read"))
		case !isHere:
			all = append(all, d.indexLine("-", name+" "+was, ""))
		case was != now:
			all = append(all, d.indexLine("~", name+" "+was+", then "+now, "it is built again"))
		}
	}
	return all
}

// indexLine returns the line of an index. What is to be done about it is left out of a
// history, in which it was done.
func (d *schemaDifference) indexLine(sign, text, todo string) schemaLine {
	l := schemaLine{Sign: sign, Text: "index " + text}
	if todo != "" && !d.succession {
		l.Consequences = []string{todo}
	}
	return l
}

// readLock compares a store with a file.
func (d *schemaDifference) readLock(name string, s *dynamic.Store, now persistable.SchemaVersion) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lock, faults := schema.ParseLock(content)
	if len(faults) > 0 {
		return shell.Invalid(fmt.Errorf("%s: line %d: %s", name, faults[0].Line, faults[0].Message))
	}
	typ := s.Schema().Type
	one := lock.OfType(typ)
	if block := lock.Block(typ); one == nil || block == nil || !block.IsType || block.Removed {
		return database.Missing(fmt.Errorf("%s has no type %s", name, typ))
	}
	d.there, d.here = "the store", name
	d.was, d.now = parsed(now), one
	d.wasIndexes, d.nowIndexes = signatures(now), map[string]string{}
	for _, ix := range lock.Block(typ).Indexes {
		if !ix.Removed {
			d.nowIndexes[ix.Name] = ix.Signature
		}
	}
	return nil
}

// takeVersions compares two versions of a store's history.
func (d *schemaDifference) takeVersions(history []persistable.SchemaVersion, from, to int) error {
	if to == 0 {
		to = len(history)
	}
	if from > len(history) || to > len(history) {
		return database.Missing(fmt.Errorf("the history has %d versions", len(history)))
	}
	d.there, d.here, d.succession = fmt.Sprintf("version %d", from), fmt.Sprintf("version %d", to), true
	d.take(history[from-1], history[to-1])
	return nil
}

// takeStores compares a store with that at another path.
func (d *schemaDifference) takeStores(ctx context.Context, cmd *cobra.Command, db *persistable.DB, now persistable.SchemaVersion, path string) error {
	other, err := database.OpenStore(ctx, cmd, db, path)
	if err != nil {
		return err
	}
	history, err := other.Indexes().History(ctx)
	if err != nil {
		return err
	}
	d.take(now, history[len(history)-1])
	return nil
}
