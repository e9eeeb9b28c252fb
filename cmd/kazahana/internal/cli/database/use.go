// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// Read opens the database that the flags of a command name for reading, calls do, and
// closes it; a [Session] keeps it open. It writes nothing.
func Read(cmd *cobra.Command, do func(context.Context, *persistable.DB) error) error {
	return withStores(cmd, false, do)
}

// Write is [Read] for a verb that writes.
func Write(cmd *cobra.Command, do func(context.Context, *persistable.DB) error) error {
	return withStores(cmd, true, do)
}

// ReadKeys is [Read] for a verb over keys, whatever they mean.
func ReadKeys(cmd *cobra.Command, do func(context.Context, kv.Database) error) error {
	return withEngine(cmd, false, do)
}

// WriteKeys is [Write] for a verb over keys, whatever they mean.
func WriteKeys(cmd *cobra.Command, do func(context.Context, kv.Database) error) error {
	return withEngine(cmd, true, do)
}

func withStores(cmd *cobra.Command, writes bool, do func(context.Context, *persistable.DB) error) error {
	return withSession(cmd, func(ctx context.Context, s *Session) error {
		db, err := s.openStores(ctx, writes)
		if err != nil {
			return err
		}
		return do(ctx, db)
	})
}

func withEngine(cmd *cobra.Command, writes bool, do func(context.Context, kv.Database) error) error {
	return withSession(cmd, func(ctx context.Context, s *Session) error {
		engine, err := s.openEngine(ctx, writes)
		if err != nil {
			return err
		}
		return do(ctx, engine)
	})
}

// withSession calls do with the session of a command, or with one that ends with the
// command.
func withSession(cmd *cobra.Command, do func(context.Context, *Session) error) error {
	ctx, cancel, err := limit(cmd)
	if err != nil {
		return err
	}
	defer cancel()
	if s := sessionOf(cmd); s != nil {
		if err := s.checkFlags(cmd); err != nil {
			return err
		}
		return explainEnd(ctx, do(ctx, s))
	}
	s, err := NewSession(cmd)
	if err != nil {
		return err
	}
	return errors.Join(explainEnd(ctx, do(ctx, s)), s.Close())
}

// WithBoth calls do with the folder and the cluster file of a verb that uses both databases.
func WithBoth(cmd *cobra.Command, do func(ctx context.Context, folder, clusterFile string) error) error {
	if s := sessionOf(cmd); s != nil {
		return shell.Misuse(cmd, fmt.Errorf("%s is open in this shell: run this verb outside of it", s.at))
	}
	folder := cmp.Or(cmd.Flag(folderFlag).Value.String(), os.Getenv(FolderVariable))
	cluster := cmp.Or(cmd.Flag(clusterFlag).Value.String(), os.Getenv(ClusterVariable))
	if folder == "" || cluster == "" {
		return shell.Misuse(cmd, fmt.Errorf("say both databases: --%s FOLDER (%s) and --%s FILE (%s)", folderFlag, FolderVariable, clusterFlag, ClusterVariable))
	}
	ctx, cancel, err := limit(cmd)
	if err != nil {
		return err
	}
	defer cancel()
	return explainEnd(ctx, do(ctx, folder, cluster))
}

// limit returns the context of a command, which ends after --timeout.
func limit(cmd *cobra.Command) (context.Context, context.CancelFunc, error) {
	after, err := cmd.Flags().GetDuration(timeoutFlag)
	if err == nil {
		err = shell.AtLeast(cmd, timeoutFlag, after, 0)
	}
	if err != nil || after == 0 {
		return cmd.Context(), func() {}, err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), after, &timeoutError{after.String()})
	return ctx, cancel, nil
}

// timeoutError says that --timeout has passed.
type timeoutError struct{ after string }

// Error implements error.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("gave up after %s, as --%s says", e.after, timeoutFlag)
}

// explainEnd adds to the error of a command that its time has passed.
func explainEnd(ctx context.Context, err error) error {
	if late := (*timeoutError)(nil); err != nil && errors.As(context.Cause(ctx), &late) {
		return fmt.Errorf("%w: %w", late, err)
	}
	return err
}
