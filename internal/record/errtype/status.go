//go:build !lens_noop

package errtype

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func statusCanceled(err error) bool {
	s, ok := err.(interface{ GRPCStatus() *status.Status })
	return ok && s.GRPCStatus().Code() == codes.Canceled
}
