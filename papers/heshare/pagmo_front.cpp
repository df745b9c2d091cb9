/*
 * pagmo_front.cpp - pagmo's NSGA-II and MOEA/D on the matrices of `heshare front`; built by bench/peers/front.py.
 *
 * pagmo_front TIME.csv ENERGY.csv REF.csv nsga2|moead SEED GENERATIONS [MUTATION]
 *
 * One JSON line: hypervolume over the reference point, evaluations. MUTATION is NSGA-II's rate; 0 or none: its own. The
 * evaluation is as lean as ours when it builds an assignment anew: chains by insertion, longest job first, no
 * allocation, so that what is compared is the algorithms. pagmo's MOEA/D is differential evolution on reals;
 * a real is cut to a GPU. Its NSGA-II wants populations that 4 divides, hence 52.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/moead.hpp>
#include <pagmo/algorithms/nsga2.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <pagmo/utils/hypervolume.hpp>

namespace {

using row = std::vector<double>;

std::vector<row> read_csv(const char *path)
{
	std::ifstream in(path);
	std::vector<row> rows;
	std::string line, field;

	while (std::getline(in, line)) {
		std::istringstream fields(line);

		rows.emplace_back();
		while (std::getline(fields, field, ','))
			rows.back().push_back(std::strtod(field.c_str(), nullptr));
	}
	if (rows.empty()) {
		std::cerr << path << ": cannot be read\n";
		std::exit(1);
	}
	return rows;
}

struct cost {
	double time, energy;
};

struct tables {
	std::vector<cost>     costs; /* [gpu * n + job] */
	std::vector<unsigned> longest_first;
	std::size_t           n = 0, k = 0;
	double                energy_ref = 0, completion_ref = 0;
};

tables the_tables;

struct assignment_problem {
	bool integers = true;

	pagmo::vector_double fitness(const pagmo::vector_double &x) const
	{
		static thread_local std::vector<unsigned> head, next;
		const tables &t = the_tables;
		const unsigned end = static_cast<unsigned>(t.n);
		double energy = 0, completion = 0;

		head.assign(t.k, end);
		next.resize(t.n);
		for (unsigned job : t.longest_first) {
			const std::size_t gpu = std::min(static_cast<std::size_t>(x[job]), t.k - 1);
			const cost *costs = &t.costs[gpu * t.n];
			unsigned *link = &head[gpu];

			while (*link != end && costs[*link].time < costs[job].time)
				link = &next[*link];
			next[job] = *link;
			*link = job;
			energy += costs[job].energy;
		}
		for (std::size_t gpu = 0; gpu < t.k; gpu++) {
			double at = 0;

			for (unsigned job = head[gpu]; job != end; job = next[job])
				completion += at += t.costs[gpu * t.n + job].time;
		}
		return {energy / t.energy_ref, completion / static_cast<double>(t.n) / t.completion_ref};
	}
	pagmo::vector_double::size_type get_nobj() const { return 2; }
	pagmo::vector_double::size_type get_nix() const { return integers ? the_tables.n : 0; }
	std::pair<pagmo::vector_double, pagmo::vector_double> get_bounds() const
	{
		const double top = static_cast<double>(the_tables.k) - (integers ? 1 : 1e-9);

		return {pagmo::vector_double(the_tables.n, 0), pagmo::vector_double(the_tables.n, top)};
	}
};

void fill_tables(const char *time, const char *energy, const char *reference)
{
	const std::vector<row> t = read_csv(time), e = read_csv(energy);
	tables &all = the_tables;
	row mean;

	all.n = t.size();
	all.k = t[0].size();
	all.costs.resize(all.n * all.k);
	for (std::size_t job = 0; job < all.n; job++) {
		mean.push_back(std::accumulate(t[job].begin(), t[job].end(), 0.0));
		for (std::size_t gpu = 0; gpu < all.k; gpu++)
			all.costs[gpu * all.n + job] = {t[job].at(gpu), e.at(job).at(gpu)};
	}
	all.longest_first.resize(all.n);
	std::iota(all.longest_first.begin(), all.longest_first.end(), 0u);
	std::stable_sort(all.longest_first.begin(), all.longest_first.end(),
			 [&](unsigned a, unsigned b) { return mean[a] > mean[b]; });
	all.energy_ref = read_csv(reference).back().at(0);
	all.completion_ref = read_csv(reference).back().at(1);
}

pagmo::algorithm algorithm_named(const std::string &name, unsigned generations, double mutation, unsigned seed)
{
	if (name == "moead")
		return pagmo::algorithm(pagmo::moead(generations, "grid", "tchebycheff", 20, 1.0, 0.5, 20., 0.9, 2, true, seed));
	return pagmo::algorithm(pagmo::nsga2(generations, 0.95, 10., mutation > 0 ? mutation : 0.01, 50., seed));
}

/* Over the box to (1, 1); what lies outside it adds nothing. */
double hypervolume_of(const pagmo::population &p)
{
	std::vector<pagmo::vector_double> inside;

	for (const pagmo::vector_double &f : p.get_f())
		if (f[0] < 1 && f[1] < 1)
			inside.push_back(f);
	return inside.empty() ? 0 : pagmo::hypervolume(inside).compute({1, 1});
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc < 7) {
		std::cerr << "usage: pagmo_front TIME ENERGY REF nsga2|moead SEED GENERATIONS [MUTATION]\n";
		return 2;
	}
	fill_tables(argv[1], argv[2], argv[3]);

	const std::string name = argv[4];
	const unsigned seed = static_cast<unsigned>(std::strtoul(argv[5], nullptr, 10));
	const unsigned generations = static_cast<unsigned>(std::strtoul(argv[6], nullptr, 10));
	const pagmo::algorithm a = algorithm_named(name, generations, argc > 7 ? std::strtod(argv[7], nullptr) : 0, seed);
	pagmo::population p(pagmo::problem(assignment_problem{name == "nsga2"}), 52, seed);

	p = a.evolve(p);
	std::printf("{\"algorithm\": \"pagmo %s\", \"evaluations\": %llu, \"hypervolume\": %.6f}\n",
		    name.c_str(), static_cast<unsigned long long>(p.get_problem().get_fevals()),
		    hypervolume_of(p));
	return 0;
}
