// SPDX-License-Identifier: Apache-2.0

// Package load is the help desk's load test. It plays the programs of many tenants at
// once, keeps what the service has acknowledged, and compares that with what the service
// has at the end.
//
//	report, err := load.Run(ctx, load.Options{API: "http://localhost:8080", Admin: "http://localhost:8081", Token: token, Tenants: 1000})
//	fmt.Println(report)
package load
