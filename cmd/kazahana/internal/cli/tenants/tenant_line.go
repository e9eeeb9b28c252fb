// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

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
