// SPDX-License-Identifier: Apache-2.0

// Package worker is the ID service: requests over HTTP and in Go, configurations, previews, the load.
// Package idbuilder is its public face; the command idbuilder uses all of it:
//
//	w, err := worker.New(s, worker.Options{AdminToken: token}, worker.Hooks{})
//	if err != nil {
//		return err
//	}
//	defer w.Close(ctx)
//	err = w.SaveConfig(ctx, request)
package worker
