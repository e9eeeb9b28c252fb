// SPDX-License-Identifier: Apache-2.0

// Package web serves the help desk over HTTP.
//
//	http.ListenAndServe(":8080", web.NewAPI(registry, log)) // for the tenants' programs
//	admin, err := web.NewAdmin(web.Admin{Registry: registry, Token: token, …})
//	http.ListenAndServe("localhost:8081", admin)
//
// Errors are answered as problem details (RFC 9457). See statusOf for which is which.
package web
