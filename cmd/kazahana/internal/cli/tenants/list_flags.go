// SPDX-License-Identifier: Apache-2.0

package tenants

import (
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

// listFlags are the flags of tenant list.
type listFlags struct {
	sizes bool
	limit int // 0: all
	token string
}

func listCommand(c *shell.Console) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "list PATH", Short: "List the tenants in a directory, with locks and quotas", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `List the tenants in a directory by name, a line each, with the reasons of locks, and with quotas and how
much of them is used. With --sizes each has the estimated size of its keys and values; the estimate of
less than 3 MB may be off, and is often 0. If there are more than --limit, the token of the next page is
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
			return errors.Join(unreadable, c.WriteNext(token(set, last)))
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

// show writes a tenant, also one that cannot be read, and returns how many lines that took: 0 if it
// was removed meanwhile.
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

// token returns the token of the page behind a tenant.
func token(set *tenants.Set, name string) string {
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
	return "", shell.Invalid(fmt.Errorf("--%s: %q is no token that this command has written for this directory", shell.TokenFlag, f.token))
}

// pageSize is how many names one transaction reads at most.
const pageSize = 1000

// names yields the names of the tenants behind one. An error comes last, also of names that cannot
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
