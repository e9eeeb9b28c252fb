// SPDX-License-Identifier: Apache-2.0

package identity

import "github.com/kazahana-db/kazahana/placement"

// DrainCommands returns the commands to be executed, each once.
func (p *Partition) DrainCommands() []placement.Command { return drain(&p.commands) }

// DrainEvents implements [Lookup].
func (p *Partition) DrainEvents() []placement.Event { return drain(&p.events) }

// DrainCacheEvents implements [Lookup].
func (p *Partition) DrainCacheEvents() []placement.CacheEvent { return drain(&p.cache) }

func drain[T any](s *[]T) []T {
	drained := *s
	*s = nil
	return drained
}
