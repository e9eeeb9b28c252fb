// SPDX-License-Identifier: Apache-2.0

// Package metrics measures the operations of a database, for Prometheus.
//
//	m, err := metrics.New()
//	db, err := persistable.Open(ctx, engine, persistable.Options{Tracer: m.Tracer})
//	http.Handle("GET /metrics", m.Handler())
package metrics
