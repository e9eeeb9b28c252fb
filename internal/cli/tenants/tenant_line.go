// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// listFlags are the flags of tenant list.
type listFlags struct {
	sizes bool
	after string
	limit int
}

func listCommand(c *shell.Console) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "list PATH", Short: "List the tenants in a directory, with locks and quotas", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `List the tenants in a directory by name, a line each, with the reasons of locks, and with quotas and how
much of them is used. With --sizes each has the estimated size of its keys and values; the estimate of
less than 3 MB may be off, and is often 0.
` + aboutTenants,
		Example:           "  kazahana tenant list tenants --db data\n  kazahana tenant list tenants --sizes --limit 20 --after tenant-0100 --cluster-file fdb.cluster",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := database.ParsePath(cmd, args[0])
			if err == nil && f.limit < 0 {
				err = shell.Misuse(cmd, errors.New("--limit: it must not be negative"))
			}
			if err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error { return list(ctx, c, db, path, f) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.sizes, "sizes", false, "estimate the size of each tenant")
	flags.StringVar(&f.after, "after", "", "only tenants behind this `name`")
	flags.IntVar(&f.limit, "limit", 0, "`number` of tenants to list at most; 0: all")
	return cmd
}

func list(ctx context.Context, c *shell.Console, db *persistable.DB, path []string, f listFlags) error {
	set := tenants.Of(db, path...)
	names, err := page(ctx, set, f.after, f.limit)
	if err == nil && len(names) == 0 && len(path) > 0 {
		if _, err := database.OpenDirectory(ctx, db, path); err != nil {
			return err
		}
	}
	for left := f.limit; err == nil && len(names) > 0; names, err = page(ctx, set, names[len(names)-1], max(left, 0)) {
		for _, name := range names {
			line, err := readLine(ctx, set, name, f.sizes)
			if errors.Is(err, tenants.ErrNotFound) {
				continue // removed meanwhile
			}
			if err != nil {
				return err
			}
			if err := c.Write(line); err != nil {
				return err
			}
		}
		if left -= len(names); f.limit > 0 && left <= 0 {
			return nil
		}
	}
	return err
}

// pageSize is how many names one transaction reads.
const pageSize = 1000

func page(ctx context.Context, set *tenants.Set, after string, limit int) ([]string, error) {
	if limit == 0 {
		limit = pageSize
	}
	return set.Page(ctx, after, min(limit, pageSize))
}

// tenantLine is a tenant in the listing.
type tenantLine struct {
	Name  string         `json:"name"`
	Path  string         `json:"path"`
	Lock  *tenants.Lock  `json:"lock,omitempty"`
	Usage *tenants.Usage `json:"usage,omitempty"` // with a quota
	Bytes *int64         `json:"bytes,omitempty"` // estimated, of keys and values
}

func readLine(ctx context.Context, set *tenants.Set, name string, sizes bool) (l tenantLine, err error) {
	l = tenantLine{Name: name, Path: database.FormatPath(slices.Clone(set.Path(name)))}
	lock, locked, err := set.LockOf(ctx, name)
	if err != nil {
		return l, err
	}
	if locked {
		l.Lock = &lock
	}
	usage, err := set.Usage(ctx, name)
	if err != nil {
		return l, err
	}
	if usage.Quota != (tenants.Quota{}) {
		l.Usage = &usage
	}
	if sizes {
		l.Bytes = new(int64)
		*l.Bytes, err = set.ApproximateSize(ctx, name)
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
		Use: "size PATH", Short: "Estimate the size of a tenant; show its lock and quota", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Estimate the size of the keys and values of a tenant, by the engine's sample; the estimate of less than
3 MB may be off, and is often 0. Show its lock and its quota, too.
` + aboutTenants,
		Example:           "  kazahana tenant size tenants/tenant-1 --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseAddress(cmd, args[0])
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
