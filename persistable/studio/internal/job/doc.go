// SPDX-License-Identifier: Apache-2.0

// Package job runs long work of a server in the background: the work goes on while no page
// looks, any page sees how far it is, and the end of the server ends it.
//
//	all := job.NewSet()
//	defer all.Close()
//	id, err := all.Start("build", "indexes of orders", func(ctx context.Context, report func(any)) (any, error) {
//		return nil, store.Indexes().Build(ctx, persistable.BuildOptions{})
//	})
//	for _, j := range all.List() { … }
package job
