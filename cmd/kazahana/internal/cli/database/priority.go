// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/kv"
)

// AddPriority adds to a verb for work that may take long the flag with the priority of its
// transactions on a cluster. The zero value of the result is the verb's own, which is batch.
func AddPriority(cmd *cobra.Command) *kv.Priority {
	var p kv.Priority
	cmd.Flags().Var((*priorityFlag)(&p), "priority", "batch: requests of other programs come first on a loaded cluster; default: they do not")
	_ = cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"batch", "default"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return &p
}

// priorityFlag is the value of the flag of [AddPriority].
type priorityFlag kv.Priority

func (p *priorityFlag) String() string {
	if *p == priorityFlag(kv.PriorityDefault) {
		return "default"
	}
	return "batch"
}

func (p *priorityFlag) Set(text string) error {
	switch text {
	case "batch":
		*p = priorityFlag(kv.PriorityBatch)
	case "default":
		*p = priorityFlag(kv.PriorityDefault)
	default:
		return errors.New("use batch or default")
	}
	return nil
}

// Type is what the help shows of the value.
func (*priorityFlag) Type() string { return "priority" }
