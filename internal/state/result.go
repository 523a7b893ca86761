package state

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
)

// Result says how the work for an object ended: success, or who must act. It is
// the value of a label of metrics, so there are few.
type Result string

// Results. Those of failures are the classes of package doapi, and these.
const (
	ResultSuccess Result = "success"
	// ResultWaiting is work that goes on by itself once something is there.
	ResultWaiting    Result = "waiting"
	ResultUser       Result = Result(doapi.ClassUser)
	ResultAccount    Result = Result(doapi.ClassAccount)
	ResultThrottled  Result = Result(doapi.ClassThrottled)
	ResultConflict   Result = Result(doapi.ClassConflict)
	ResultCloud      Result = Result(doapi.ClassCloud)
	ResultKubernetes Result = "kubernetes"
	ResultBug        Result = Result(doapi.ClassBug)
)

// Results are all that there are, success first.
func Results() []Result {
	return []Result{
		ResultSuccess, ResultWaiting, ResultUser, ResultAccount, ResultThrottled,
		ResultConflict, ResultCloud, Result(doapi.ClassNotFound), ResultKubernetes, ResultBug,
	}
}

// ResultOf sorts an error of work for an object. One with a method Result
// knows it itself.
func ResultOf(err error) Result {
	var own interface{ Result() Result }
	if errors.As(err, &own) {
		return own.Result()
	}
	switch class := doapi.Classify(err); {
	case err == nil:
		return ResultSuccess
	case errors.Is(err, inventory.ErrNotBelieved):
		return ResultAccount // the token doesn't show the cluster any more
	case errors.Is(err, inventory.ErrAmbiguous):
		return ResultUser
	case errors.Is(err, inventory.ErrNoMatch):
		return ResultWaiting
	case errors.Is(err, inventory.ErrGone):
		return Result(doapi.ClassNotFound)
	case class != doapi.ClassBug:
		return Result(class)
	case errors.Is(err, inventory.ErrNotNow):
		return ResultThrottled
	case errors.Is(err, inventory.ErrWrongAnswer):
		return ResultCloud
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return ResultKubernetes
	}
	return ResultBug
}
