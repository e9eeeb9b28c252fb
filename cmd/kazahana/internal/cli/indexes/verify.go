// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

const aboutVerify = `
It runs beside programs that read and write, and takes as many transactions as it needs. If it ends
early, it writes a token to the standard error output, with --json as {"next": "…"}; --token goes on there.
The exit code is 5 if faults are left.
`

func verifyCommand(c *shell.Console) *cobra.Command {
	var token string
	var recount bool
	cmd := &cobra.Command{
		Use: "verify PATH", Short: "Compare all records with their entries in the indexes", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Compare every record of a store with its entries in all readable indexes, and every entry with its record.
It writes nothing, unless --recount is given: counts and sums of many records can be compared only
with a count that is made beside the programs that write, in the database. Without it they are compared at
one version, which can be read for five seconds; if that does not suffice, they are skipped, and the
report names them.
` + aboutVerify + aboutStores,
		Example:           "  kazahana index verify tenants/tenant-1/orders --db data",
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			o := persistable.VerifyOptions{Token: token}
			if !recount {
				o.RecountBytes, o.NoRecount = math.MaxInt64, true
			}
			return over(cmd, args[0], recount, func(ctx context.Context, _ *persistable.DB, t *target) error { return verify(ctx, c, t, o) })
		},
	}
	shell.AddToken(cmd, &token)
	cmd.Flags().BoolVar(&recount, "recount", false, "count large counts and sums anew, in the database")
	return cmd
}

func repairCommand(c *shell.Console) *cobra.Command {
	var token string
	cmd := &cobra.Command{
		Use: "repair PATH", Short: "Mend the entries of indexes that do not agree with their records", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Compare every record of a store with its entries as "index verify" does, and mend the entries at fault, and
the counts and sums. Records are never changed. What is left needs a decision: records that cannot be
decoded, records that share a unique value; the counts of ranks, which "index build PATH INDEX" mends.
` + aboutVerify + aboutStores,
		Example:           "  kazahana index repair tenants/tenant-1/orders --db data",
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			o := persistable.VerifyOptions{Token: token, Repair: true}
			return over(cmd, args[0], true, func(ctx context.Context, _ *persistable.DB, t *target) error { return verify(ctx, c, t, o) })
		},
	}
	shell.AddToken(cmd, &token)
	return cmd
}

// verify verifies or repairs, and shows the report, also that of a call that ends early.
func verify(ctx context.Context, c *shell.Console, t *target, o persistable.VerifyOptions) error {
	bar := c.StartProgress("records of "+t.where(), 0, shell.Things)
	o.Progress = func(r persistable.Report) { bar.Set(int64(r.Records)) }
	found, err := t.Indexes().VerifyWith(ctx, o)
	bar.Finish()
	if errors.Is(err, persistable.ErrBadToken) {
		return shell.Invalid(err)
	}
	r := newReport(t, found)
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
	return &shell.ExitError{Code: ExitFaults, Err: fmt.Errorf("%s: %d faults are left: %s", t.where(), r.Left, remedy)}
}

// endEarly says with which token a verb that has failed goes on.
func endEarly(c *shell.Console, token string, err error) error {
	err = fmt.Errorf("ended early: %w", err)
	if token == "" {
		return err
	}
	return errors.Join(err, c.WriteNext(token))
}
