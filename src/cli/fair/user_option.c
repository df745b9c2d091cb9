/*
 * user_option.c - users as values of options; see user_option.h.
 */
#include "cli/fair/user_option.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

int fair_user_parse(const char *what, const char *name, uint32_t *uid, struct hes_err *err)
{
	const struct passwd *user = getpwnam(name);

	if (user)
		*uid = user->pw_uid;
	else if (hes_parse_u32(what, name, 0, FAIR_ANY_USER - 1, uid, NULL))
		return hes_fail(err, -EINVAL, "%s: there is no user \"%.60s\"", what, name);
	return 0;
}

static int weight_parse(const char *what, char *pair, struct arbiter_user_weight *out,
			struct hes_err *err)
{
	char *weight = strchr(pair, '=');

	if (!weight)
		return hes_fail(err, -EINVAL, "%s: \"%.60s\" is not USER=W", what, pair);
	*weight++ = '\0';
	if (fair_user_parse(what, pair, &out->uid, err))
		return -EINVAL;
	return hes_parse_double(what, weight, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER,
				&out->weight, err);
}

int fair_user_weights_parse(const char *what, const char *list,
			    struct arbiter_user_weight out[FAIR_MAX_WEIGHTS], size_t *n,
			    struct hes_err *err)
{
	char *text = list ? strdup(list) : NULL, *rest = text, *one;
	int rc = list && !text ? hes_fail(err, -ENOMEM, "out of memory") : 0;

	*n = 0;
	while (!rc && rest && (one = strsep(&rest, ","))) {
		if (*n == FAIR_MAX_WEIGHTS)
			rc = hes_fail(err, -EINVAL, "%s: more than %d users", what,
				      FAIR_MAX_WEIGHTS);
		else
			rc = weight_parse(what, one, &out[(*n)++], err);
	}
	free(text);
	return rc;
}
