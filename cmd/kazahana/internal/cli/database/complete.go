// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/persistable"
)

// CompletionTime bounds a completion: a shell waits for it. Tests, which a busy machine may
// make slow, set a longer one.
var CompletionTime = 2 * time.Second

// mostCompletions is how many names a completion offers.
const mostCompletions = 1000

// CompletePath completes the first argument of a verb as a path: a
// [cobra.Command.ValidArgsFunction].
func CompletePath(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return CompletePaths(cmd, args, word)
}

// CompletePaths completes each argument of a verb as a path.
func CompletePaths(cmd *cobra.Command, _ []string, word string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	above := word[:lastSlash(word)+1]
	path, err := ParsePath(cmd, above)
	if err != nil {
		return nil, directive
	}
	Complete(cmd, func(ctx context.Context, db *persistable.DB) error {
		names, err := db.Layer().ListAfter(ctx, db.Engine(), path, "", mostCompletions)
		for _, name := range names {
			if text := above + FormatElement(name) + "/"; strings.HasPrefix(text, word) {
				words = append(words, text)
			}
		}
		return err
	})
	return words, directive
}

// lastSlash returns the index of the last slash that is not escaped; -1 if there is
// none.
func lastSlash(text string) int {
	last := -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			last = i
		}
	}
	return last
}

// Complete calls do with the database of a command that is being completed, if it can be
// opened. There is no place for errors: a completion that fails offers nothing.
func Complete(cmd *cobra.Command, do func(context.Context, *persistable.DB) error) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTime)
	defer cancel()
	if s := sessionOf(cmd); s != nil {
		if s.checkFlags(cmd) != nil {
			return
		}
		if db, err := s.openStores(ctx, false); err == nil {
			_ = do(ctx, db)
		}
		return
	}
	s, err := NewSession(cmd)
	if err != nil {
		return
	}
	if db, err := s.openStores(ctx, false); err == nil {
		_ = do(ctx, db)
	}
	_ = s.Close()
}
