// SPDX-License-Identifier: Apache-2.0

// Package api has the HTTP contract that the ID service and its clients share: the
// codes of answers, and their envelope.
//
//	var reply api.Reply[api.Numbers]
//	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
//		return err
//	}
//	if reply.Code != api.OK {
//		return &api.Error{Code: reply.Code, Status: response.StatusCode, Message: reply.Message}
//	}
//	fmt.Println(reply.Data.IDs)
package api
