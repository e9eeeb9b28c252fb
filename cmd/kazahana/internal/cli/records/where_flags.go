// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// aboutWhere says in the help of a verb what conditions are.
const aboutWhere = `
A condition is a comparison of a field with a value (= != < <= > >=), or with several (in), or
several joined by and, or and parentheses. Texts stand in quotes. Address.City is a field of a nested
struct; of a list an element must fulfil the comparison; null is compared by = and != only.
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
func (w *whereFlags) query(s *dynamic.Store) (*query, error) {
	condition, err := s.Where(w.where)
	if err != nil {
		return nil, err
	}
	q, err := s.AllowScan().Find(condition)
	if err != nil {
		return nil, err
	}
	if w.filterLimit == 0 {
		return q.FilterLimit(math.MaxInt), nil
	}
	return q.FilterLimit(w.filterLimit), nil
}

// explainLimit says how to read more.
func explainLimit(err error) error {
	if errors.As(err, new(*persistable.FilterLimitError)) {
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
