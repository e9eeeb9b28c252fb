// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

const aboutTenants = `
A tenant is a directory with all below it: for types in tenants/{TenantID}/orders, tenants/tenant-1.
` + database.AboutPaths + "\n" + database.About

// tenantCommand returns kazahana tenant.
func tenantCommand(c *shell.Console) *cobra.Command {
	return shell.Group("tenant", "List, copy, move, export, import, lock and remove whole tenants",
		listTenantsCommand(c), sizeCommand(c), copyTenantCommand(c), moveTenantCommand(c), exportCommand(c), importCommand(c), verifyExportCommand(c), removeTenantCommand(c),
		lockCommand(c), unlockCommand(c), abandonCommand(c))
}

// tenantAddress is where a tenant is: in which set, under which name.
type tenantAddress struct {
	set  []string
	name string
}

func parseTenantAddress(cmd *cobra.Command, text string) (a tenantAddress, err error) {
	path, err := database.ParsePath(cmd, text)
	switch {
	case err != nil:
		return a, err
	case len(path) == 0:
		return a, shell.Invalid(errors.New("the root is not a tenant: name a directory, such as tenants/tenant-1"))
	}
	return tenantAddress{path[:len(path)-1], path[len(path)-1]}, nil
}

// parsePair parses the two tenants of a verb: both must be in the same directory.
func parsePair(cmd *cobra.Command, args []string) (from, to tenantAddress, err error) {
	if from, err = parseTenantAddress(cmd, args[0]); err != nil {
		return from, to, err
	}
	if to, err = parseTenantAddress(cmd, args[1]); err != nil {
		return from, to, err
	}
	if !slices.Equal(from.set, to.set) {
		err = shell.Invalid(fmt.Errorf("%s and %s are in different directories: export the one and import the other", from, to))
	}
	return from, to, err
}

// String returns the path as messages write it.
func (a tenantAddress) String() string { return database.QuotePath(a.path()) }

// text returns the path as results have it.
func (a tenantAddress) text() string { return database.FormatPath(a.path()) }

func (a tenantAddress) path() []string { return append(slices.Clone(a.set), a.name) }

func (a tenantAddress) of(db *persistable.DB) *tenants.Set { return tenants.Of(db, a.set...) }

// explain adds to an error what to do about it on the command line.
func (a tenantAddress) explain(ctx context.Context, db *persistable.DB, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tenants.ErrNotFound):
		if exists, _ := a.of(db).Exists(ctx, a.name); !exists {
			return database.MissingDirectory(ctx, db, a.of(db).Path(a.name))
		}
	case errors.Is(err, tenants.ErrTooLong):
		return fmt.Errorf("%w: that is, kazahana tenant lock %s, and repeat the command", err, a)
	case errors.Is(err, tenants.ErrUnfinished):
		return fmt.Errorf("%w: that is, kazahana tenant abandon %s", err, a)
	case errors.Is(err, persistable.ErrLocked):
		return fmt.Errorf("%w; if what locked it does not run any more: kazahana tenant unlock %s", err, a)
	case errors.Is(err, tenants.ErrName):
		return shell.Invalid(err)
	}
	return err
}

// listFlags are the flags of tenant list.
type listFlags struct {
	sizes bool
	limit int // 0: all
	token string
}

func listTenantsCommand(c *shell.Console) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "list PATH", Short: "List the tenants in a directory, with locks and quotas", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `List the tenants in a directory by name, a line each, with the reasons of locks, and with quotas and how
much of them is used. With --sizes each has the size of its keys and values, as kazahana tenant size
shows it. If there are more than --limit, the token of the next page is
written to the standard error output, with --json as {"next": "…"}; --token goes on there.
` + aboutTenants,
		Example:           "  kazahana tenant list tenants --db data\n  kazahana tenant list tenants --sizes --limit 20 --cluster-file fdb.cluster",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := database.ParsePath(cmd, args[0])
			if err == nil && f.limit < 0 {
				err = shell.Misuse(cmd, errors.New("--limit: it must not be negative"))
			}
			if err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error { return f.list(ctx, c, db, path) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.sizes, "sizes", false, "estimate the size of each tenant")
	flags.IntVar(&f.limit, "limit", 0, "`number` of tenants to list at most; 0: all")
	shell.AddToken(cmd, &f.token)
	return cmd
}

// list writes the tenants in a directory, and the token of the next page.
func (f *listFlags) list(ctx context.Context, c *shell.Console, db *persistable.DB, path []string) error {
	last, err := f.lastName(path)
	if err == nil && len(path) > 0 {
		_, err = database.OpenDirectory(ctx, db, path)
	}
	if err != nil {
		return err
	}
	set, shown := tenants.Of(db, path...), 0
	var unreadable error
	for name, err := range f.names(ctx, set, last) {
		if err != nil {
			return errors.Join(unreadable, err)
		}
		if f.limit > 0 && shown == f.limit {
			return errors.Join(unreadable, c.WriteNext(listToken(set, last)))
		}
		n, err := f.show(ctx, c, set, name)
		if errors.Is(err, tenants.ErrUnreadable) {
			unreadable = errors.Join(unreadable, err)
		} else if err != nil {
			return err
		}
		last, shown = name, shown+n
	}
	return unreadable
}

// show writes a tenant, even one that cannot be read, and returns how many lines that took: 0 if it
// was removed since it was listed.
func (f *listFlags) show(ctx context.Context, c *shell.Console, set *tenants.Set, name string) (int, error) {
	line, err := readLine(ctx, set, name, f.sizes)
	if errors.Is(err, tenants.ErrNotFound) {
		return 0, nil
	}
	if err != nil && !errors.Is(err, tenants.ErrUnreadable) {
		return 0, err
	}
	return 1, errors.Join(err, c.Write(line))
}

// listToken returns the token of the page that follows a tenant.
func listToken(set *tenants.Set, name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(database.FormatPath(set.Path(name))))
}

// lastName returns the name of the last tenant in the page that gave the token; "" without a
// token.
func (f *listFlags) lastName(path []string) (string, error) {
	if f.token == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(f.token)
	if err == nil {
		var last []string
		if last, err = database.SplitPath(string(text)); err == nil && len(last) == len(path)+1 && slices.Equal(last[:len(path)], path) {
			return last[len(path)], nil
		}
	}
	return "", shell.Invalid(fmt.Errorf("--%s: %q is not a token that this command has written for this directory", shell.TokenFlag, f.token))
}

// pageSize is how many names one transaction reads at most.
const pageSize = 1000

// names yields the names of the tenants after one. An error comes last, even one about names that cannot
// be read.
func (f *listFlags) names(ctx context.Context, set *tenants.Set, after string) iter.Seq2[string, error] {
	size := pageSize
	if 0 < f.limit && f.limit < pageSize {
		size = f.limit + 1 // whether there are more
	}
	return func(yield func(string, error) bool) {
		var unreadable error
		for more := true; more; {
			names, err := set.Page(ctx, after, size)
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
				after = name
			}
			more = len(names) == size
			if unreadable = errors.Join(unreadable, err); err != nil && !errors.Is(err, tenants.ErrUnreadable) {
				break
			}
		}
		if unreadable != nil {
			yield("", unreadable)
		}
	}
}

// tenantLine is a tenant in the listing.
type tenantLine struct {
	Name  string         `json:"name"`
	Path  string         `json:"path"`
	Lock  *tenants.Lock  `json:"lock,omitempty"`
	Usage *tenants.Usage `json:"usage,omitempty"` // with a quota
	Bytes *int64         `json:"bytes,omitempty"` // estimated, of keys and values
	Error string         `json:"error,omitempty"` // why lock and quota cannot be read
}

func readLine(ctx context.Context, set *tenants.Set, name string, sizes bool) (l tenantLine, err error) {
	l = tenantLine{Name: name, Path: database.FormatPath(slices.Clone(set.Path(name)))}
	if sizes {
		l.Bytes = new(int64)
		if *l.Bytes, err = set.ApproximateSize(ctx, name); err != nil {
			return l, err
		}
	}
	lock, locked, err := set.LockOf(ctx, name)
	if locked {
		l.Lock = &lock
	}
	usage, usageErr := set.Usage(ctx, name)
	if usage.Quota != (tenants.Quota{}) {
		l.Usage = &usage
	}
	if err = cmp.Or(err, usageErr); errors.Is(err, tenants.ErrUnreadable) {
		l.Error = err.Error()
	}
	return l, err
}

// Lines implements [shell.Result].
func (l tenantLine) Lines() []string {
	text := l.Path
	if l.Bytes != nil {
		text = fmt.Sprintf("%-32s %10s", text, shell.Size(*l.Bytes))
	}
	if l.Usage != nil {
		text += "  " + quotaText(*l.Usage)
	}
	if l.Lock != nil {
		text += "  locked: " + shell.Word(l.Lock.Reason)
	}
	if l.Error != "" {
		text += "  cannot be read"
	}
	return []string{text}
}

func quotaText(u tenants.Usage) string {
	text := "quota:"
	if u.Quota.Records > 0 {
		text += fmt.Sprintf(" %d of %d records", u.Records, u.Quota.Records)
	}
	if u.Quota.Bytes > 0 {
		text += fmt.Sprintf(" %s of %s", shell.Size(u.Bytes), shell.Size(u.Quota.Bytes))
	}
	if u.Counting {
		text += " (being counted)"
	}
	return text
}

func sizeCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "size PATH", Short: "Show the size of a tenant, its lock and its quota", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the size of the keys and values of a tenant, its lock and its quota. A directory of the tenant is
counted if it is small, and estimated by the engine otherwise. Between 64 kB and 3 MB the estimate may be far off.
` + aboutTenants,
		Example:           "  kazahana tenant size tenants/tenant-1 --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseTenantAddress(cmd, args[0])
			if err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				line, err := readLine(ctx, at.of(db), at.name, true)
				if err != nil {
					return at.explain(ctx, db, err)
				}
				return c.Write(line)
			})
		},
	}
}

func moveTenantCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "move FROM TO", Short: "Give a tenant another name", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Give a tenant another name in the same directory. It takes one transaction, whatever the tenant holds.
The records have the new name from then on, in every program.
` + aboutTenants,
		Example:           "  kazahana tenant move tenants/tenant-1 tenants/customer-7 --db data",
		ValidArgsFunction: database.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := parsePair(cmd, args)
			if err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				if err := from.of(db).Move(ctx, from.name, to.name); err != nil {
					return from.explain(ctx, db, err)
				}
				return c.Write(changeResult{Action: "moved", From: from.text(), To: to.text()})
			})
		},
	}
}

func copyTenantCommand(c *shell.Console) *cobra.Command {
	var lock bool
	var workers int
	cmd := &cobra.Command{
		Use: "copy FROM TO", Short: "Copy a tenant to another name", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Copy a tenant to a name in the same directory that does not exist. The copy is of one state, and appears
when it is complete. A locked tenant is read under its lock, which stays. One that is not locked is read at
one version, which is possible for five seconds: enough for some ten megabytes. With --lock, programs
cannot write to it until the copy is complete. Quota and lock are not copied.

With --workers the keys of a locked tenant are divided: the same command in other processes, on a cluster,
takes part, and continues what a process that was killed has left.
` + aboutTenants,
		Example:           "  kazahana tenant copy tenants/tenant-1 tenants/trial --lock --db data",
		ValidArgsFunction: database.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := parsePair(cmd, args)
			if err = cmp.Or(err, shell.AtLeast(cmd, "workers", workers, 1)); err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				var p tenants.Progress
				err := from.whileLocked(ctx, db, lock, "kazahana tenant copy", func(l tenants.Lock) (err error) {
					show := startProgress(ctx, c, db, from, "copying "+from.String())
					defer show.Finish()
					p, err = from.of(db).Copy(ctx, from.name, to.name, tenants.CopyOptions{Lock: l, Workers: workers, Progress: func(p tenants.Progress) { show.Set(p.Bytes) }})
					return err
				})
				if errors.Is(err, tenants.ErrUnfinished) {
					return to.explain(ctx, db, err)
				}
				if err != nil {
					return from.explain(ctx, db, err)
				}
				return c.Write(changeResult{"copied", from.text(), to.text(), p.Pairs, p.Bytes})
			})
		},
	}
	addLock(cmd, &lock)
	cmd.Flags().IntVar(&workers, "workers", 1, "`number` of goroutines that copy a locked tenant, which share the work with those of other processes")
	return cmd
}

// startProgress shows how much of a tenant is read.
func startProgress(ctx context.Context, c *shell.Console, db *persistable.DB, at tenantAddress, name string) *shell.Progress {
	size, err := at.of(db).ApproximateSize(ctx, at.name)
	if err != nil {
		size = 0 // unknown; the verb meets the same fault
	}
	return c.StartProgress(name, size, shell.Bytes)
}

// changeResult is what was done with a tenant.
type changeResult struct {
	Action string `json:"action"`
	From   string `json:"from"`
	To     string `json:"to"`
	Pairs  int64  `json:"pairs,omitempty"` // keys with their values
	Bytes  int64  `json:"bytes,omitempty"` // of keys and values
}

// Lines implements [shell.Result].
func (d changeResult) Lines() []string {
	text := fmt.Sprintf("%s %s to %s", d.Action, shell.Argument(d.From), shell.Argument(d.To))
	if d.Pairs > 0 {
		text += fmt.Sprintf(": %d keys, %s", d.Pairs, shell.Size(d.Bytes))
	}
	return []string{text}
}
